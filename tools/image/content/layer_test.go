package content

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/echo-operator/echo-operator/tools/image/dockerfile"
)

// treeOf returns the content that one COPY of the source "x" makes, after fill has filled the folder.
func treeOf(t *testing.T, instruction dockerfile.Copy, fill func(folder string) error) (*Tree, error) {
	t.Helper()
	folder := t.TempDir()
	if err := fill(folder); err != nil {
		t.Fatal(err)
	}
	instruction.Sources, instruction.Position = []string{"x"}, "Dockerfile:3"
	return NewTree(Folders{Context: folder, Built: folder}, []dockerfile.Copy{instruction})
}

func file(name, content string, mode os.FileMode) func(folder string) error {
	return func(folder string) error {
		path := filepath.Join(folder, name)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode))
	}
}

func all(steps ...func(folder string) error) func(folder string) error {
	return func(folder string) error {
		for _, step := range steps {
			if err := step(folder); err != nil {
				return err
			}
		}
		return nil
	}
}

func link(target, name string) func(folder string) error {
	return func(folder string) error { return os.Symlink(target, filepath.Join(folder, name)) }
}

func TestLayerHasTheContentCompressed(t *testing.T) {
	text := strings.Repeat("compressible ", 10_000)
	tree, err := treeOf(t, dockerfile.Copy{Destination: "/a/b"}, file("x", text, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := tree.Layer()
	if err != nil {
		t.Fatal(err)
	}
	if mediaType, err := layer.MediaType(); err != nil || mediaType != types.OCILayer {
		t.Errorf("the media type is %s, %v, want %s", mediaType, err, types.OCILayer)
	}
	if size, err := layer.Size(); err != nil || size == 0 || size > int64(len(text)/10) {
		t.Errorf("%d bytes became %d, %v", len(text), size, err)
	}
	for range 2 { // a push that fails reads a layer again
		compressed, err := layer.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		plain, err := gzip.NewReader(compressed)
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewReader(plain)
		for range 2 {
			if _, err := archive.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := io.ReadAll(archive); err != nil || string(got) != text {
			t.Errorf("the file has %d bytes, %v, want %d", len(got), err, len(text))
		}
	}
}

func TestLayerFailsWithItsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		change func(file string) error
		want   error
	}{
		"a file that is gone":    {os.Remove, os.ErrNotExist},
		"a file that has grown":  {func(file string) error { return os.WriteFile(file, []byte("longer than before"), 0o600) }, tar.ErrWriteTooLong},
		"a file that is shorter": {func(file string) error { return os.Truncate(file, 1) }, nil},
	} {
		var source string
		tree, err := treeOf(t, dockerfile.Copy{Destination: "/a"}, all(file("x", "content", 0o644), func(folder string) error {
			source = filepath.Join(folder, "x")
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.change(source); err != nil {
			t.Fatal(err)
		}
		if err := tree.write(io.Discard); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if _, err := tree.Layer(); err == nil {
			t.Errorf("%s: there is a layer", name)
		}
	}
}

// failing is a disk that is full after some bytes.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

func TestWriteErrorsAreReturned(t *testing.T) {
	tree, err := treeOf(t, dockerfile.Copy{Destination: "/a"}, file("x", "content", 0o644))
	if err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if err := tree.write(&whole); err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, 512, whole.Len() - 1} { // within the header, the content and the end
		if err := tree.write(&failing{left}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with space for %d of %d bytes: %v, want %v", left, whole.Len(), err, syscall.ENOSPC)
		}
	}
}

func TestEntries(t *testing.T) {
	for name, c := range map[string]struct {
		instruction dockerfile.Copy
		fill        func(folder string) error
		want        []string
	}{
		"file under a name":          {dockerfile.Copy{Destination: "/a"}, file("x", "", 0o600), []string{"a 644 0:0 0"}},
		"file into the root":         {dockerfile.Copy{Destination: "/"}, file("x", "", 0o600), []string{"x 644 0:0 0"}},
		"file into a new directory":  {dockerfile.Copy{Destination: "/a/", UID: 1, GID: 2}, file("x", "", 0o711), []string{"a/ 755 1:2 0", "a/x 755 1:2 0"}},
		"program of its owner only":  {dockerfile.Copy{Destination: "/a"}, file("x", "", 0o500), []string{"a 755 0:0 0"}},
		"program of others only":     {dockerfile.Copy{Destination: "/a"}, file("x", "", 0o611), []string{"a 644 0:0 0"}},
		"program with setuid":        {dockerfile.Copy{Destination: "/a"}, file("x", "", 0o755|os.ModeSetuid), []string{"a 755 0:0 0"}},
		"mode of a build":            {dockerfile.Copy{Destination: "/a", Built: true}, file("x", "", 0o640), []string{"a 640 0:0 0"}},
		"program of a build":         {dockerfile.Copy{Destination: "/a", Built: true}, file("x", "", 0o700), []string{"a 755 0:0 0"}},
		"setuid of a build":          {dockerfile.Copy{Destination: "/a", Built: true}, file("x", "", 0o644|os.ModeSetuid), []string{"a 644 0:0 0"}},
		"link to a file is the file": {dockerfile.Copy{Destination: "/a"}, all(file("y", "", 0o755), link("y", "x")), []string{"a 755 0:0 0"}},
		"links within a folder stay": {dockerfile.Copy{Destination: "/a", UID: 1, GID: 2},
			all(file("x/y", "", 0o644), link("y", "x/file"), link(".", "x/folder"), link("/etc/absent", "x/dangling")),
			[]string{"a/ 755 1:2 0", "a/dangling 777 1:2 0 /etc/absent", "a/file 777 1:2 0 y", "a/folder 777 1:2 0 .", "a/y 644 1:2 0"}},
		"sorted by path": {dockerfile.Copy{Destination: "/a"}, all(file("x/b/c", "", 0o644), file("x/b-c", "", 0o644), file("x/B", "", 0o644)),
			[]string{"a/ 755 0:0 0", "a/B 644 0:0 0", "a/b/ 755 0:0 0", "a/b-c 644 0:0 0", "a/b/c 644 0:0 0"}},
		"hidden files": {dockerfile.Copy{Destination: "/a"}, file("x/.hidden/.file", "", 0o644),
			[]string{"a/ 755 0:0 0", "a/.hidden/ 755 0:0 0", "a/.hidden/.file 644 0:0 0"}},
		"empty folders": {dockerfile.Copy{Destination: "/a"}, func(folder string) error { return os.MkdirAll(folder+"/x/b/c", 0o700) },
			[]string{"a/ 755 0:0 0", "a/b/ 755 0:0 0", "a/b/c/ 755 0:0 0"}},
	} {
		tree, err := treeOf(t, c.instruction, c.fill)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := entries(t, tree); !slices.Equal(got, c.want) {
			t.Errorf("%s: the layer has\n%s, want\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestFilesThatAnImageCannotHave(t *testing.T) {
	pipe := func(name string) func(folder string) error {
		return func(folder string) error { return syscall.Mkfifo(filepath.Join(folder, name), 0o600) }
	}
	for name, c := range map[string]struct {
		fill func(folder string) error
		want string
	}{
		"pipe":             {pipe("x"), "neither a file nor a folder nor a symbolic link"},
		"pipe in a folder": {all(file("x/y", "", 0o644), pipe("x/z")), "neither a file nor a folder nor a symbolic link"},
		"dangling link":    {link("absent", "x"), "no such file"},
		"nothing":          {all(), "no such file"},
	} {
		if _, err := treeOf(t, dockerfile.Copy{Destination: "/a"}, c.fill); err == nil || !strings.HasPrefix(err.Error(), "Dockerfile:3: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want the position and %q", name, err, c.want)
		}
	}
}

func TestEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		copies []dockerfile.Copy
		want   bool
	}{
		"no instruction": {nil, true},
		"the root":       {[]dockerfile.Copy{{Destination: "/"}}, true},
		"a directory":    {[]dockerfile.Copy{{Destination: "/work"}}, false},
	} {
		if tree, err := NewTree(Folders{}, c.copies); err != nil || tree.Empty() != c.want {
			t.Errorf("%s: %t, %v, want %t", name, tree.Empty(), err, c.want)
		}
	}
}

// TestAFileJoinsADirectoryThatIsThere: a destination without a slash is a directory if an earlier instruction made it one.
func TestAFileJoinsADirectoryThatIsThere(t *testing.T) {
	tree, err := NewTree(folders(t, 0o022), []dockerfile.Copy{
		{Destination: "/work"},
		{Sources: []string{"LICENSE"}, Destination: "/work", UID: 5},
		{Sources: []string{"program"}, Built: true, Destination: "/work/deep/er/", UID: 6, GID: 7},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"work/ 755 0:0 0", "work/LICENSE 644 5:0 0", "work/deep/ 755 6:7 0", "work/deep/er/ 755 6:7 0", "work/deep/er/program 755 6:7 0"}
	if got := entries(t, tree); !slices.Equal(got, want) {
		t.Errorf("the layer has\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
