package content

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/tools/image/dockerfile"
)

// folders makes a build context and the output of a build, with the modes that a umask leaves.
func folders(t *testing.T, umask os.FileMode) Folders {
	t.Helper()
	root := t.TempDir()
	f := Folders{Context: filepath.Join(root, "context"), Built: filepath.Join(root, "built")}
	for path, mode := range map[string]os.FileMode{
		"context/LICENSE": 0o644, "context/catalog/echo/v1.yaml": 0o644, "context/catalog/a": 0o755, "built/program": 0o755,
	} {
		file := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777&^umask), os.WriteFile(file, []byte(path), 0o600),
			os.Chmod(file, mode&^umask), os.Chtimes(file, time.Time{}, time.Unix(int64(umask)*1000, 0))); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func copies() []dockerfile.Copy {
	return []dockerfile.Copy{
		{Sources: []string{"program"}, Built: true, Destination: "/bin/"},
		{Sources: []string{"LICENSE"}, Destination: "/licenses/LICENSE"},
		{Sources: []string{"catalog"}, Destination: "/configs", UID: 1001},
		{Destination: "/work"},
	}
}

// entries returns a line for each entry of a layer.
func entries(t *testing.T, tree *Tree) []string {
	t.Helper()
	layer, err := tree.Layer()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %o %d:%d %d %s", header.Name, header.Mode, header.Uid, header.Gid,
			header.ModTime.Unix(), header.Linkname)))
	}
}

func TestLayerDoesNotDependOnTheCheckout(t *testing.T) {
	want := []string{
		"bin/ 755 0:0 0", "bin/program 755 0:0 0",
		"configs/ 755 1001:0 0", "configs/a 755 1001:0 0", "configs/echo/ 755 1001:0 0", "configs/echo/v1.yaml 644 1001:0 0",
		"licenses/ 755 0:0 0", "licenses/LICENSE 644 0:0 0", "work/ 755 0:0 0",
	}
	var digests []string
	for _, umask := range []os.FileMode{0o022, 0o077, 0o002} {
		tree, err := NewTree(folders(t, umask), copies())
		if err != nil {
			t.Fatal(err)
		}
		if got := entries(t, tree); !slices.Equal(got, want) {
			t.Errorf("with the umask %o the layer has\n%s, want\n%s", umask, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		layer, err := tree.Layer()
		if err != nil {
			t.Fatal(err)
		}
		digest, err := layer.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest.String())
	}
	if digests[0] != digests[1] || digests[0] != digests[2] {
		t.Errorf("the digests differ: %v", digests)
	}
}

// TestModesOfABuild: opm refuses a cache whose modes differ from those that it gave, and a temporary folder is for everybody.
func TestModesOfABuild(t *testing.T) {
	f := folders(t, 0o022)
	cache, temporary := filepath.Join(f.Built, "cache", "data"), filepath.Join(f.Built, "cache", "tmp")
	if err := errors.Join(os.MkdirAll(cache, 0o750), os.Mkdir(temporary, 0o700), os.Chmod(temporary, 0o777|os.ModeSticky),
		os.WriteFile(filepath.Join(cache, "digest"), nil, 0o640), os.Symlink("data/digest", filepath.Join(f.Built, "cache", "link"))); err != nil {
		t.Fatal(err)
	}
	tree, err := NewTree(f, []dockerfile.Copy{{Sources: []string{"cache"}, Built: true, Destination: "/"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"data/ 750 0:0 0", "data/digest 640 0:0 0", "link 777 0:0 0 data/digest", "tmp/ 1777 0:0 0"}
	if got := entries(t, tree); !slices.Equal(got, want) {
		t.Errorf("the layer has %v, want %v", got, want)
	}
}

func TestLaterCopiesReplaceFilesAndKeepDirectories(t *testing.T) {
	tree, err := NewTree(folders(t, 0o022), []dockerfile.Copy{
		{Sources: []string{"catalog"}, Destination: "/configs"},
		{Sources: []string{"LICENSE"}, Destination: "/configs/a", UID: 5},
		{Sources: []string{"catalog"}, Destination: "/configs/echo", UID: 7},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"configs/ 755 0:0 0", "configs/a 644 5:0 0", "configs/echo/ 755 0:0 0", "configs/echo/a 755 7:0 0",
		"configs/echo/echo/ 755 7:0 0", "configs/echo/echo/v1.yaml 644 7:0 0", "configs/echo/v1.yaml 644 0:0 0"}
	if got := entries(t, tree); !slices.Equal(got, want) {
		t.Errorf("the layer has\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMissingSource(t *testing.T) {
	_, err := NewTree(folders(t, 0o022), []dockerfile.Copy{{Sources: []string{"absent"}, Built: true, Destination: "/a", Position: "Dockerfile:7"}})
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "Dockerfile:7: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestLinkedFolderIsCopiedWithItsContent(t *testing.T) {
	f := folders(t, 0o022)
	if err := os.Symlink("catalog", filepath.Join(f.Context, "linked")); err != nil {
		t.Fatal(err)
	}
	tree, err := NewTree(f, []dockerfile.Copy{{Sources: []string{"linked"}, Destination: "/configs"}})
	if err != nil {
		t.Fatal(err)
	}
	direct, err := NewTree(f, []dockerfile.Copy{{Sources: []string{"catalog"}, Destination: "/configs"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := entries(t, tree), entries(t, direct); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFilesAndFoldersDoNotReplaceEachOther: such a layer would be invalid, or lose files.
func TestFilesAndFoldersDoNotReplaceEachOther(t *testing.T) {
	for name, second := range map[string]dockerfile.Copy{
		"a file over a folder":  {Sources: []string{"configs"}, Destination: "/"},
		"a link over a folder":  {Sources: []string{"links"}, Destination: "/configs"},
		"a folder over a file":  {Sources: []string{"catalog"}, Destination: "/configs/a"},
		"a file below a file":   {Sources: []string{"LICENSE"}, Destination: "/configs/a/LICENSE"},
		"a folder below a file": {Sources: []string{"catalog"}, Destination: "/configs/a/b/c"},
		"WORKDIR below a file":  {Destination: "/configs/a/work"},
	} {
		t.Run(name, func(t *testing.T) {
			f := folders(t, 0o022)
			links := filepath.Join(f.Context, "links")
			if err := errors.Join(os.WriteFile(filepath.Join(f.Context, "configs"), nil, 0o600), os.Mkdir(links, 0o750),
				os.Symlink("elsewhere", filepath.Join(links, "echo"))); err != nil {
				t.Fatal(err)
			}
			_, err := NewTree(f, []dockerfile.Copy{{Sources: []string{"catalog"}, Destination: "/configs"}, second})
			if err == nil || !strings.Contains(err.Error(), "folder") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
