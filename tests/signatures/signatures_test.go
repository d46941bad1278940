// Package signatures verifies a release with the documented commands, and checks that these commands detect tampering.
package signatures

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/fences"
)

const page = "docs/how-to/verify-a-release.md"

// release is a release in a registry, with the directory that contains its files and the public key.
type release struct{ registry, folder, version string }

// newRelease returns the release that tools/release/rehearse created.
func newRelease(t *testing.T) release {
	t.Helper()
	made := release{os.Getenv("REGISTRY"), os.Getenv("RELEASE"), strings.TrimSpace(content(t, "../../VERSION"))}
	if made.folder == "" {
		t.Skip("make test-signatures makes and signs a release")
	}
	return made
}

func content(t *testing.T, file string) string {
	t.Helper()
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(read)
}

// documentedSection returns the commands below a heading, and the failure message that the page shows.
func documentedSection(t *testing.T, page, heading string) (commands, message string) { //nolint:unparam // tests/commands reads the page
	t.Helper()
	for _, fence := range fences.Section(content(t, "../../"+page), heading) {
		switch {
		case fence.Reason != "":
		case fence.HasCommands():
			commands += fence.Text + "\n"
		default:
			message += strings.TrimSpace(fence.Text)
		}
	}
	return commands, message
}

// run runs commands in a directory, using the documented identity of the signer, and returns the commands' output.
func (r release) run(t *testing.T, folder, commands string) (string, error) {
	t.Helper()
	identity, _ := documentedSection(t, page, "## Name the signer")
	script := strings.NewReplacer("quay.io/echo-operator", r.registry, "v0.1.0", "v"+r.version, ":0.1.0", ":"+r.version,
		"linux/amd64", "linux/"+runtime.GOARCH).Replace(identity + commands)
	process := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	process.Dir = folder
	output, err := process.CombinedOutput()
	return string(output), err
}

// verify checks that the commands succeed before the tampering, and fail with the expected message afterward.
func (r release) verify(t *testing.T, folder, commands, message string, tamper func()) {
	t.Helper()
	if output, err := r.run(t, folder, commands); err != nil || commands == "" {
		t.Fatalf("%s%v:\n%s", commands, err, output)
	}
	tamper()
	message = strings.NewReplacer("v0.1.0", "v"+r.version, "amd64", runtime.GOARCH).Replace(message)
	output, err := r.run(t, folder, commands)
	if err == nil || message == "" || !slices.Contains(strings.Split(output, "\n"), message) {
		t.Errorf("after tampering: %v\n%s\nwant the line %q", err, output, message)
	}
}

// do runs a program that tampers with a release, and returns the program's output.
func do(t *testing.T, folder string, command ...string) string {
	t.Helper()
	process := exec.CommandContext(t.Context(), command[0], command[1:]...) //nolint:gosec // the commands are written below
	process.Dir = folder
	output, err := process.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v:\n%s", command, err, output)
	}
	return string(output)
}

// download returns a directory with copies of the release's files.
func (r release) download(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(r.folder)); err != nil {
		t.Fatal(err)
	}
	return folder
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content(t, file)+text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestImage(t *testing.T) {
	r := newRelease(t)
	commands, message := documentedSection(t, page, "## An image")
	image := r.registry + "/echo-operator:v" + r.version
	before := do(t, "", "crane", "digest", image)
	r.verify(t, r.folder, commands, message, func() { do(t, "", "crane", "mutate", image, "--label=tampered=yes", "--tag="+image) })
	do(t, "", "crane", "tag", r.registry+"/echo-operator@"+strings.TrimSpace(before), "v"+r.version)
}

func TestChart(t *testing.T) {
	r := newRelease(t)
	commands, message := documentedSection(t, page, "## The chart")
	r.verify(t, r.folder, commands, message, func() {
		folder := r.download(t)
		chart := "echo-operator-" + r.version + ".tgz"
		appendTo(t, filepath.Join(folder, chart), "tampered")
		do(t, folder, "oras", "push", r.registry+"/charts/echo-operator:"+r.version, chart+":application/vnd.cncf.helm.chart.content.v1.tar+gzip")
	})
}

// TestBill replaces the pathcheck image's signed bill of materials with a changed version.
func TestBill(t *testing.T) {
	r := newRelease(t)
	commands, message := documentedSection(t, page, "## The bill of materials of an image")
	commands = strings.Replace(commands, "/echo-operator:", "/echo-operator-pathcheck:", 1)
	image, platform := r.registry+"/echo-operator-pathcheck:v"+r.version, "linux/"+runtime.GOARCH
	folder := r.download(t)
	r.verify(t, folder, commands, message, func() {
		const kind = "application/spdx+json"
		find := []string{"oras", "discover", "--platform", platform, "--artifact-type", kind, "--format", "go-template",
			"--template", "{{(index .referrers 0).reference}}", image}
		do(t, "", "oras", "manifest", "delete", "--force", do(t, "", find...))
		appendTo(t, filepath.Join(folder, "echo-operator-pathcheck_linux_"+runtime.GOARCH+".spdx.json"), "\n")
		do(t, folder, "oras", "attach", "--platform", platform, "--artifact-type", kind, image,
			"echo-operator-pathcheck_linux_"+runtime.GOARCH+".spdx.json:"+kind)
	})
}

func TestNotices(t *testing.T) {
	r := newRelease(t)
	commands, _ := documentedSection(t, page, "## The notices of an image")
	if output, err := r.run(t, r.folder, commands); err != nil || !strings.Contains(output, "sigs.k8s.io/controller-runtime@v") {
		t.Errorf("%v:\n%s", err, output)
	}
}

// TestFiles changes an archive, a chart, and the checksums.
func TestFiles(t *testing.T) {
	r := newRelease(t)
	const heading, archive = "## The files", "kubectl-echo_v0.1.0_linux_amd64.tar.gz: FAILED"
	commands, messages := documentedSection(t, page, heading)
	_, checksums := documentedSection(t, page, "### Changed checksums")
	if messages != archive+checksums {
		t.Fatalf("the page shows %q", messages)
	}
	for file, message := range map[string]string{
		"kubectl-echo_v" + r.version + "_linux_" + runtime.GOARCH + ".tar.gz": archive,
		"echo-operator-" + r.version + ".tgz":                                 "echo-operator-" + r.version + ".tgz: FAILED",
		"checksums.txt":                                                       checksums,
	} {
		folder := r.download(t)
		r.verify(t, folder, commands, message, func() { appendTo(t, filepath.Join(folder, file), "tampered") })
	}
}
