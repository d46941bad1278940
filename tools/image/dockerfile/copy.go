package dockerfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// output is the folder of a build stage that COPY --from may name. The same files are under bin/linux-ARCHITECTURE.
const output = "/out/"

func (r *reader) addCopy(command *instructions.CopyCommand) error {
	if err := supported(command); err != nil {
		return err
	}
	uid, gid, err := owner(command.Chown)
	if err != nil {
		return err
	}
	built := command.From != ""
	if built && !slices.Contains(r.earlier, command.From) {
		return fmt.Errorf("COPY --from=%s: there is no earlier stage of that name", command.From)
	}
	added := Copy{Built: built, Destination: r.absolute(command.DestPath), UID: uid, GID: gid, Position: r.at(command.Location())}
	for _, source := range command.SourcePaths {
		path, err := sourcePath(source, built)
		if err != nil {
			return err
		}
		added.Sources = append(added.Sources, path)
	}
	if len(added.Sources) > 1 && !strings.HasSuffix(added.Destination, "/") {
		return errors.New("COPY of several sources needs a destination that ends with a slash")
	}
	r.stage.Copies = append(r.stage.Copies, added)
	return nil
}

// supported refuses what this package does not do.
func supported(command *instructions.CopyCommand) error {
	switch {
	case len(command.SourceContents) > 0:
		return errors.New("COPY of a here-document is not supported")
	case command.Chmod != "", command.Link, command.Parents, len(command.ExcludePatterns) > 0:
		return errors.New("COPY is supported with --from and --chown only")
	}
	return nil
}

// sourcePath returns the path of a source relative to the build context, or to the output of the build.
func sourcePath(source string, built bool) (string, error) {
	if strings.ContainsAny(source, "*?[") {
		return "", fmt.Errorf("COPY %s: wildcards are not supported", source)
	}
	if built {
		within, ok := strings.CutPrefix(source, output)
		if !ok {
			return "", fmt.Errorf("COPY --from takes files below %s, not %s", output, source)
		}
		source = within
	}
	path := filepath.Clean(strings.TrimPrefix(source, "/"))
	if path == "." || !filepath.IsLocal(path) {
		return "", fmt.Errorf("COPY %s: name a file or a folder in the build context", source)
	}
	return path, nil
}

// owner returns the numbers of --chown=USER[:GROUP]. As in Docker, the group defaults to the number of the user.
func owner(chown string) (uid, gid int, err error) {
	if chown == "" {
		return 0, 0, nil
	}
	user, group, found := strings.Cut(chown, ":")
	if !found {
		group = user
	}
	uid, err = strconv.Atoi(user)
	if err == nil {
		gid, err = strconv.Atoi(group)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("COPY --chown=%s: user and group must be numbers", chown)
	}
	return uid, gid, nil
}
