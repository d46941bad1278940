package packaging

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fake is a program that records its calls. The test specifies what the fake detect and kind programs print.
const fake = `#!/usr/bin/env bash
echo "${0##*/} $*" >>"$CALLS"
case "${0##*/} $*" in
*/cluster/detect) printf '%s\nthe test says so\n' "$DETECTED" ;;
*/cluster\ kubeconfig) echo /of/the/cluster ;;
kind\ get\ clusters) echo "$CLUSTERS" ;;
docker\ *) exit "$DOCKER" ;;
kubectl\ *-f\ -) cat >/dev/null ;;
esac
`

// demo represents a machine on which the demo runs with fake programs.
type demo struct {
	root, calls string
	environment []string
}

func newDemo(t *testing.T, programs ...string) *demo {
	t.Helper()
	root := t.TempDir()
	for _, file := range []string{"VERSION", "config", "tests/programs", "tools/demo", "tools/make"} {
		symlink(t, inProject(file), filepath.Join(root, file))
	}
	for _, program := range []string{"bash", "cat", "dirname", "env", "grep", "mkdir", "rm", "sed", "tar"} {
		found, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		symlink(t, found, filepath.Join(root, "bin", program))
	}
	for _, file := range append(programs, "go", "make", "kubectl", "../tools/build", "../tests/olm/remove-operator") {
		write(t, filepath.Join(root, "bin", file), fake)
	}
	write(t, filepath.Join(root, "images", "prober"), "pushed/prober")
	calls := filepath.Join(root, "calls")
	return &demo{root: root, calls: calls, environment: []string{"PATH=" + filepath.Join(root, "bin"), "CALLS=" + calls, "CACHE=" + root,
		"OLM=no", "DOCKER=0", "DETECTED=real"}}
}

// symlink creates a symbolic link to a file.
func symlink(t *testing.T, file, name string) {
	t.Helper()
	absolute, err := filepath.Abs(file)
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(absolute, name)); err != nil {
		t.Fatal(err)
	}
}

// write writes an executable file.
func write(t *testing.T, file, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o700)); err != nil {
		t.Fatal(err)
	}
}

// run runs one of the project's scripts, and returns the recorded calls and the output.
func (d *demo) run(t *testing.T, environment []string, script ...string) (calls []string, output string) {
	t.Helper()
	_ = os.Remove(d.calls)
	command := exec.CommandContext(t.Context(), filepath.Join(d.root, script[0]), script[1:]...)
	command.Dir, command.Env = d.root, slices.Concat(d.environment, environment)
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	recorded, err := os.ReadFile(d.calls)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(recorded), d.root, "")), "\n"), string(printed)
}

// callsOf returns the calls to the given programs.
func callsOf(calls []string, programs ...string) []string {
	return slices.DeleteFunc(slices.Clone(calls), func(call string) bool {
		program, _, _ := strings.Cut(call, " ")
		return !slices.Contains(programs, program)
	})
}

// TestDemo_onKind checks which commands the demo runs if it uses kind, from the creation of the cluster to the deployment by image tag.
func TestDemo_onKind(t *testing.T) {
	d := newDemo(t, "docker", "kind")
	version := strings.TrimSpace(text(t, "VERSION"))
	want := []string{
		"docker info",
		"kind get clusters",
		"kind create cluster --name echo-operator-demo --kubeconfig /kind/kubeconfig --wait 2m",
		"make --no-print-directory REGISTRY= demo-archives IMG=quay.io/echo-operator/echo-operator:v" + version,
		"kind load image-archive bin/images/echo-operator.tar --name echo-operator-demo",
		"kind load image-archive bin/images/echo-server.tar --name echo-operator-demo",
		"kind load image-archive bin/images/echo-operator-pathcheck.tar --name echo-operator-demo",
		"kind load image-archive bin/images/prober.tar --name echo-operator-demo",
		"make --no-print-directory REGISTRY= deploy IMG=quay.io/echo-operator/echo-operator:v" + version,
	}
	calls, output := d.run(t, []string{"REGISTRY=registry.example.com", "OLM=yes"}, "tools/demo")
	if got := callsOf(calls, "docker", "kind", "make"); !slices.Equal(got, want) {
		t.Errorf("it called\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if slices.ContainsFunc(callsOf(calls, "go"), func(call string) bool { return !strings.HasSuffix(call, "/detect") }) {
		t.Errorf("the demo uses the test cluster: %q", calls)
	}
	if !strings.Contains(output, "which OLM requires") || !strings.Contains(output, "export KUBECONFIG="+d.root+"/kind/kubeconfig ") {
		t.Errorf("it printed\n%s", output)
	}
}

// TestDemo_withoutKind checks when the demo uses a cluster that kind did not create.
func TestDemo_withoutKind(t *testing.T) {
	both := []string{"docker", "kind"}
	for name, c := range map[string]struct {
		programs, environment, want []string
	}{
		"KUBECONFIG is given": {both, []string{"DETECTED=given", "KUBECONFIG=/given", "REGISTRY=registry.example.com"},
			[]string{"make --no-print-directory REGISTRY=registry.example.com images prober-image",
				"make --no-print-directory REGISTRY=registry.example.com deploy"}},
		"Docker does not respond": {both, []string{"DOCKER=1"}, []string{"docker info",
			"make --no-print-directory REGISTRY= images prober-image", "make --no-print-directory REGISTRY= deploy"}},
		"kind is missing": {[]string{"docker"}, nil,
			[]string{"make --no-print-directory REGISTRY= images prober-image", "make --no-print-directory REGISTRY= deploy"}},
		"nothing runs containers": {nil, []string{"DETECTED=simulated"}, []string{"make --no-print-directory REGISTRY= install"}},
	} {
		t.Run(name, func(t *testing.T) {
			calls, _ := newDemo(t, c.programs...).run(t, c.environment, "tools/demo")
			if got := callsOf(calls, "docker", "kind", "make"); !slices.Equal(got, c.want) {
				t.Errorf("it called\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if !slices.Contains(calls, "go run -trimpath ./tests/cluster up") {
				t.Errorf("the demo does not start or check the cluster: %q", calls)
			}
		})
	}
}
