package packaging

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMustGatherImage checks the image for `oc adm must-gather --image`. All programs that oc and oc rsync run in the image must exist,
// need no other files, and work for a user without an account. `make test-must-gather-image` builds the image.
func TestMustGatherImage(t *testing.T) {
	archive := os.Getenv("MUST_GATHER_IMAGE")
	if archive == "" {
		t.Skip("'make test-must-gather-image' builds the image, which requires Debian")
	}
	root := unpacked(t, archive)
	for _, program := range []string{"/bin/bash", "/bin/tar", "/bin/busybox", "/usr/bin/gather"} {
		path, err := filepath.EvalSymlinks(filepath.Join(root, program))
		if err != nil {
			t.Fatal(err)
		}
		checkStatic(t, program, path)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs in the image")
	}
	for script, want := range map[string]string{
		"gather --help":     "--namespace",
		"gather --nonsense": "unknown flag",
		"setsid -w bash <<-END\n\techo in a session\nEND":                      "in a session",
		"setsid -w bash -c 'exit 7'; echo $?":                                  "7",
		"type df ps sort sed sleep && echo 1 2 | awk '{print $2}'":             "\n2\n",
		"mkdir /tmp/f; echo x >/tmp/f/y; tar cf - -C /tmp/f . | tar tf -":      "./y",
		"sync && echo written":                                                 "written",
		"trap : TERM INT; sleep infinity & kill %1; wait; echo it was waiting": "it was waiting",
	} {
		if got := runIn(t, root, script); !strings.Contains(got, want) || strings.Contains(got, "not found") {
			t.Errorf("%s prints\n%s\nwithout %q", script, got, want)
		}
	}
}

// unpacked unpacks an image from an archive for docker load, and returns the directory that contains the image's files.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	files, root := t.TempDir(), t.TempDir()
	untar(t, archive, files)
	content, err := os.ReadFile(filepath.Join(files, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var images []struct{ Layers []string }
	if err := json.Unmarshal(content, &images); err != nil || len(images) != 1 {
		t.Fatalf("%s: %v", content, err)
	}
	for _, layer := range images[0].Layers {
		untar(t, filepath.Join(files, layer), root)
	}
	if err := errors.Join(os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755)); err != nil { // for other users
		t.Fatal(err)
	}
	return root
}

func untar(t *testing.T, archive, folder string) {
	t.Helper()
	arguments := []string{"--extract", "--preserve-permissions", "--no-same-owner", "--file=" + archive, "--directory=" + folder}
	if output, err := exec.CommandContext(t.Context(), "tar", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", archive, err, output)
	}
}

func checkStatic(t *testing.T, program, path string) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	defer func() { _ = file.Close() }()
	libraries, err := file.ImportedLibraries()
	if isInterpreted := slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }); isInterpreted ||
		err != nil || len(libraries) > 0 {
		t.Errorf("%s is not static: it needs %v, %v", program, libraries, err)
	}
}

// runIn runs a bash script in a chroot directory, as a user without an account, and returns the output.
func runIn(t *testing.T, root, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "/bin/bash", "-c", script)
	command.Path, command.Dir, command.Env = "/bin/bash", "/", []string{"PATH=/usr/bin:/bin"}
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 123456, Gid: 0}}
	output, err := command.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", script, err)
	}
	return string(output)
}

// TestMustGatherPackages checks that for each architecture, two packages are pinned, together with the sources of everything in them.
func TestMustGatherPackages(t *testing.T) {
	pins := text(t, "cmd", "must-gather", "packages")
	line := regexp.MustCompile(`(?m)^(\w+) [0-9a-f]{64} debian(?:-security)?/pool/\S+/([^/\s_]+)_(\S+)$`)
	of := map[string][]string{}
	for _, found := range line.FindAllStringSubmatch(pins, -1) {
		of[found[1]] = append(of[found[1]], found[2])
	}
	want := map[string][]string{"source": {"bash", "busybox", "glibc"}}
	for _, architecture := range []string{"amd64", "arm64", "ppc64el", "s390x"} {
		want[architecture] = []string{"bash-static", "busybox-static"}
	}
	for kind, names := range of {
		slices.Sort(names)
		of[kind] = slices.Compact(names)
	}
	if !reflect.DeepEqual(of, want) || strings.Count(pins, ".dsc\n") != 3 || strings.Count(pins, ".orig.tar.") != 3 {
		t.Errorf("the pins are for %v, want %v", of, want)
	}
}
