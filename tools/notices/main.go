// Notices prints the licenses and notices of the modules that are linked into Go programs. Anyone who distributes the programs must also
// distribute these texts. Notices reads the list of modules from the programs. Notices requires only Go, so that Dockerfiles can run it.
//
// usage: notices DIRECTORY PROGRAM [PROGRAM...]      (DIRECTORY contains the programs' go.mod and go.sum)
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "notices: "+err.Error())
		os.Exit(1)
	}
}

func run(out io.Writer, arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("usage: notices DIRECTORY PROGRAM [PROGRAM...]")
	}
	modules, err := linked(arguments[1:])
	if err != nil {
		return err
	}
	found, err := downloaded(arguments[0], modules)
	if err != nil {
		return err
	}
	texts := notices{}
	if err := texts.addGo(); err != nil {
		return err
	}
	for _, module := range found {
		if err := texts.add(module.Path+"@"+module.Version, os.DirFS(module.Dir)); err != nil {
			return err
		}
	}
	_, err = io.WriteString(out, texts.String())
	return err
}

// linked returns the modules that are linked into programs, as PATH@VERSION. The project is excluded, because it has its own license.
func linked(programs []string) ([]string, error) {
	var modules []string
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		for _, module := range append(info.Deps, &info.Main) {
			if module.Path == "github.com/echo-operator/echo-operator" {
				continue
			}
			if module.Replace != nil {
				module = module.Replace
			}
			modules = append(modules, module.Path+"@"+module.Version)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules), nil
}

// module is a module in the module cache.
type module struct{ Path, Version, Dir string }

// downloaded returns the given modules, with their directories in the module cache.
func downloaded(folder string, modules []string) ([]module, error) {
	if len(modules) == 0 { // without names, Go would download all modules in go.mod
		return nil, nil
	}
	output, err := command(folder, append([]string{"mod", "download", "-json"}, modules...)...)
	if err != nil {
		return nil, err
	}
	var all []module
	for decoder := json.NewDecoder(strings.NewReader(output)); decoder.More(); {
		var each module
		if err := decoder.Decode(&each); err != nil {
			return nil, err
		}
		all = append(all, each)
	}
	return all, nil
}

func command(folder string, arguments ...string) (string, error) {
	process := exec.Command("go", arguments...) //nolint:noctx // it ends with the terminal
	var failure bytes.Buffer
	process.Dir, process.Stderr = folder, &failure
	output, err := process.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s%s", arguments[0], err, output, failure.Bytes())
	}
	return strings.TrimSpace(string(output)), nil
}

// notices maps each text to the files that contain the text, in the form MODULE@VERSION FILE.
type notices map[string][]string

// addGo adds the license of Go, because every program contains Go's standard library.
func (n notices) addGo() error {
	words, err := command(".", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return err
	}
	root, version, _ := strings.Cut(words, "\n")
	text, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return err
	}
	n[string(text)] = append(n[string(text)], version+" LICENSE")
	return nil
}

// add adds a module's licenses and notices. If the module has none, add returns an error.
func (n notices) add(name string, files fs.FS) error {
	isNotice := regexp.MustCompile(`(?i)^([\w-]+[-_.])?((un)?licen[cs]es?|copying|notice|copyright)([-_.][\w.-]+)?$`)
	isCode := regexp.MustCompile(`(?i)\.(go|s|c|h|sh|py|js|ts|tpl|tmpl|ya?ml|json|toml)$`)
	found := false
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		base := path.Base(file)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (base == "testdata" || base == "vendor" || base == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || !isNotice.MatchString(base) || isCode.MatchString(base):
			return nil
		}
		text, err := fs.ReadFile(files, file)
		found = true
		n[string(text)] = append(n[string(text)], name+" "+file)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no license", name)
	}
	return err
}

// String returns each text once, below the names of the files that contain the text.
func (n notices) String() string {
	all := strings.Builder{}
	all.WriteString("The licenses and notices of Go and of the linked modules.\n" +
		"https://pkg.go.dev/MODULE@VERSION leads to the source code of each module.\n")
	texts := slices.Collect(maps.Keys(n))
	slices.SortFunc(texts, func(a, b string) int { return slices.Compare(n[a], n[b]) })
	for _, text := range texts {
		fmt.Fprintf(&all, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(n[text], "\n"), strings.TrimSpace(text))
	}
	return all.String()
}
