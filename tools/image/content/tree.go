// Package content makes the layer of an image from files. The same files make the same layer, whatever their times and
// whatever modes a checkout gave them.
package content

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/tools/image/dockerfile"
)

// Folders are where the sources of COPY are on this machine.
type Folders struct {
	Context string
	// Built has what an earlier stage of the Dockerfile would build.
	Built string
}

// Tree is the content of a layer.
type Tree struct{ entries map[string]entry }

type entry struct {
	header tar.Header
	source string // the file with the content of a regular file
}

// NewTree returns the content that the COPY instructions of a Dockerfile make.
func NewTree(folders Folders, copies []dockerfile.Copy) (*Tree, error) {
	t := &Tree{entries: map[string]entry{}}
	for _, instruction := range copies {
		if err := t.add(folders, instruction); err != nil {
			return nil, fmt.Errorf("%s: %w", instruction.Position, err)
		}
	}
	return t, nil
}

func (t *Tree) add(folders Folders, instruction dockerfile.Copy) error {
	if len(instruction.Sources) == 0 {
		return t.addDirectory(instruction.Destination, 0, 0)
	}
	base := folders.Context
	if instruction.Built {
		base = folders.Built
	}
	for _, source := range instruction.Sources {
		if err := t.addSource(filepath.Join(base, source), instruction); err != nil {
			return err
		}
	}
	return nil
}

// addSource adds a file, or what a folder contains. A symbolic link stands for what it points to.
func (t *Tree) addSource(source string, instruction dockerfile.Copy) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	destination := instruction.Destination
	if !info.IsDir() {
		if strings.HasSuffix(destination, "/") || t.isDirectory(destination) {
			destination = path.Join(destination, filepath.Base(source))
		}
		return t.addFile(source, destination, info, instruction)
	}
	if err := t.addDirectory(destination, instruction.UID, instruction.GID); err != nil {
		return err
	}
	if source, err = filepath.EvalSymlinks(source); err != nil { // WalkDir does not follow a link
		return err
	}
	return filepath.WalkDir(source, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == source {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return t.addFile(file, path.Join(destination, filepath.ToSlash(strings.TrimPrefix(file, source))), info, instruction)
	})
}

func (t *Tree) addFile(source, destination string, info fs.FileInfo, instruction dockerfile.Copy) error {
	header := tar.Header{Name: inLayer(destination), Uid: instruction.UID, Gid: instruction.GID, ModTime: epoch(), Mode: mode(info, instruction.Built)}
	switch info.Mode().Type() {
	case fs.ModeDir:
		if t.isDirectory(destination) {
			return nil
		}
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
	case fs.ModeSymlink:
		target, err := os.Readlink(source)
		if err != nil {
			return err
		}
		header.Typeflag, header.Linkname = tar.TypeSymlink, target
	case 0:
		header.Typeflag, header.Size = tar.TypeReg, info.Size()
	default:
		return fmt.Errorf("%s is neither a file nor a folder nor a symbolic link", source)
	}
	if t.isDirectory(destination) {
		return fmt.Errorf("%s cannot be copied: %s is a folder in the image already", source, destination)
	}
	if err := t.addDirectory(path.Dir(destination), instruction.UID, instruction.GID); err != nil {
		return err
	}
	t.entries[inLayer(destination)] = entry{header: header, source: source}
	return nil
}

// addDirectory adds a directory and its parents, unless they are there.
func (t *Tree) addDirectory(directory string, uid, gid int) error {
	name := inLayer(directory)
	if name == "" || t.isDirectory(directory) {
		return nil
	}
	if other, taken := t.entries[name]; taken {
		return fmt.Errorf("/%s cannot be a folder: the image has the file %s there", name, other.source)
	}
	if err := t.addDirectory(path.Dir("/"+name), uid, gid); err != nil {
		return err
	}
	t.entries[name] = entry{header: tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, Uid: uid, Gid: gid, ModTime: epoch()}}
	return nil
}

func (t *Tree) isDirectory(directory string) bool {
	name := inLayer(directory)
	return name == "" || t.entries[name].header.Typeflag == tar.TypeDir
}

func inLayer(destination string) string { return strings.Trim(path.Clean(destination), "/") }

func epoch() time.Time { return time.Unix(0, 0) }

// mode returns the mode that a file gets in an image. That of a checkout depends on the umask, so that only the bit for
// programs counts. What a build makes may need its modes: opm refuses a cache in which they differ.
func mode(info fs.FileInfo, built bool) int64 {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return 0o777
	case info.IsDir() && info.Mode()&fs.ModeSticky != 0:
		return 0o1777
	case info.Mode().IsRegular() && info.Mode()&0o100 != 0:
		return 0o755
	case built:
		return int64(info.Mode().Perm())
	case info.IsDir():
		return 0o755
	default:
		return 0o644
	}
}
