// Package dockerfile reads the final stage of a Dockerfile: the files of an image and its configuration. Programs that an
// earlier stage would build are taken as built, so nothing is run.
package dockerfile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

// Stage is the final stage of a Dockerfile, for one platform.
type Stage struct {
	Config v1.Config
	// Copies are the files of the image, in the order of the Dockerfile.
	Copies []Copy
}

// Copy is a COPY instruction, or, without sources, a directory.
type Copy struct {
	Sources []string
	// Built says that the sources are files of an earlier stage.
	Built bool
	// Destination is absolute. It is a directory if it ends with a slash.
	Destination string
	UID, GID    int
	// Position is the file and line of the instruction.
	Position string
}

// Read returns the final stage of the Dockerfile at path for a platform. args are the build arguments.
func Read(path string, platform v1.Platform, args map[string]string) (*Stage, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	parsed, err := parser.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	stages, global, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(stages) == 0 {
		return nil, fmt.Errorf("%s: there is no FROM instruction", path)
	}
	r := &reader{path: path, lex: shell.NewLex('\\'), args: maps.Clone(args), variables: map[string]string{}, stage: &Stage{}}
	return r.read(stages, global, platform)
}

// reader holds the state of reading one stage.
type reader struct {
	path      string
	lex       *shell.Lex
	earlier   []string          // the names of earlier stages
	args      map[string]string // what an ARG without a default is set to
	variables map[string]string // what ARG and ENV have set so far
	stage     *Stage
}

func (r *reader) read(stages []instructions.Stage, global []instructions.ArgCommand, platform v1.Platform) (*Stage, error) {
	final := stages[len(stages)-1]
	if final.BaseName != "scratch" {
		return nil, fmt.Errorf("%s: the final stage is FROM %s; only FROM scratch is supported", r.at(final.Location), final.BaseName)
	}
	for _, stage := range stages[:len(stages)-1] {
		r.earlier = append(r.earlier, stage.Name)
	}
	if err := r.setGlobal(global, platform); err != nil {
		return nil, err
	}
	for _, command := range final.Commands {
		if err := r.apply(command); err != nil {
			return nil, fmt.Errorf("%s: %w", r.at(command.Location()), err)
		}
	}
	return r.stage, nil
}

// setGlobal makes the platform and the arguments before the first stage known to ARG.
func (r *reader) setGlobal(global []instructions.ArgCommand, platform v1.Platform) error {
	if r.args == nil {
		r.args = map[string]string{}
	}
	r.args["TARGETOS"], r.args["TARGETARCH"], r.args["TARGETPLATFORM"] = platform.OS, platform.Architecture, platform.String()
	for _, command := range global {
		if err := r.setArguments(&command); err != nil {
			return fmt.Errorf("%s: %w", r.at(command.Location()), err)
		}
	}
	maps.Copy(r.args, r.variables)
	r.variables = map[string]string{} // a stage sees of these what it names
	return nil
}

// apply adds one instruction to the stage. Instructions that it does not know are refused.
func (r *reader) apply(command instructions.Command) error {
	if expandable, ok := command.(instructions.SupportsSingleWordExpansion); ok {
		if err := expandable.Expand(r.expand); err != nil {
			return err
		}
	}
	config := &r.stage.Config
	switch c := command.(type) {
	case *instructions.ArgCommand:
		return r.setArguments(c)
	case *instructions.LabelCommand:
		r.setLabels(c)
	case *instructions.EnvCommand:
		r.setEnvironment(c)
	case *instructions.CopyCommand:
		return r.addCopy(c)
	case *instructions.UserCommand:
		config.User = c.User
	case *instructions.WorkdirCommand:
		r.setWorkingDirectory(c)
	case *instructions.ExposeCommand:
		return r.expose(c)
	case *instructions.EntrypointCommand:
		config.Entrypoint = c.CmdLine
		return execForm(c.ShellDependantCmdLine)
	case *instructions.CmdCommand:
		config.Cmd = c.CmdLine
		return execForm(c.ShellDependantCmdLine)
	default:
		return fmt.Errorf("%s is not supported in the final stage", strings.ToUpper(command.Name()))
	}
	return nil
}

func (r *reader) setArguments(command *instructions.ArgCommand) error {
	for _, arg := range command.Args {
		given, ok := r.args[arg.Key]
		switch {
		case strings.HasPrefix(arg.Key, "TARGET") && arg.Value != nil:
			return fmt.Errorf("ARG %s has a default, which would hide the platform that is built for", arg.Key)
		case ok:
			r.variables[arg.Key] = given
		case arg.Value != nil:
			r.variables[arg.Key] = *arg.Value
		}
	}
	return nil
}

func (r *reader) setLabels(command *instructions.LabelCommand) {
	if r.stage.Config.Labels == nil {
		r.stage.Config.Labels = map[string]string{}
	}
	for _, label := range command.Labels {
		r.stage.Config.Labels[label.Key] = label.Value
	}
}

func (r *reader) setEnvironment(command *instructions.EnvCommand) {
	for _, variable := range command.Env {
		r.variables[variable.Key] = variable.Value
		r.stage.Config.Env = slices.DeleteFunc(r.stage.Config.Env, func(set string) bool { return strings.HasPrefix(set, variable.Key+"=") })
		r.stage.Config.Env = append(r.stage.Config.Env, variable.String())
	}
}

func (r *reader) setWorkingDirectory(command *instructions.WorkdirCommand) {
	folder := r.absolute(command.Path)
	r.stage.Config.WorkingDir = folder
	r.stage.Copies = append(r.stage.Copies, Copy{Destination: folder, Position: r.at(command.Location())})
}

func (r *reader) expose(command *instructions.ExposeCommand) error {
	if r.stage.Config.ExposedPorts == nil {
		r.stage.Config.ExposedPorts = map[string]struct{}{}
	}
	for _, port := range command.Ports {
		number, protocol, found := strings.Cut(port, "/")
		if strings.Trim(number, "0123456789") != "" {
			return fmt.Errorf("EXPOSE %s is not a port number", port)
		}
		if !found {
			protocol = "tcp"
		}
		r.stage.Config.ExposedPorts[number+"/"+protocol] = struct{}{}
	}
	return nil
}

// expand replaces variables and removes quotes. A variable that is not set is an error: it would be an empty text.
func (r *reader) expand(word string) (string, error) {
	set := make([]string, 0, len(r.variables))
	for name, value := range r.variables {
		set = append(set, name+"="+value)
	}
	expanded, missing, err := r.lex.ProcessWord(word, shell.EnvsFromSlice(set))
	if err != nil {
		return "", err
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("%s is not set", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return expanded, nil
}

// absolute returns a path of the image. A slash at its end is kept.
func (r *reader) absolute(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + r.stage.Config.WorkingDir + "/" + path
	}
	clean := filepath.Clean(path)
	if clean != "/" && (strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.")) {
		clean += "/"
	}
	return clean
}

func (r *reader) at(location []parser.Range) string {
	if len(location) == 0 {
		return r.path
	}
	return fmt.Sprintf("%s:%d", r.path, location[0].Start.Line)
}

// execForm refuses a command that needs a shell, because an image from scratch has none.
func execForm(command instructions.ShellDependantCmdLine) error {
	if command.PrependShell {
		return fmt.Errorf("a command in shell form is not supported: write it as a JSON list")
	}
	return nil
}
