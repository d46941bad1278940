package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeTools is the script for all fake programs. If it is called as build, it prints its own directory, whatever set of tools is requested.
// If it is called as cosign, it records its arguments. If it is called by any other name, it prints a commit, a digest, or a reference.
const fakeTools = `#!/bin/sh
name=${0##*/}
case $name in
build) echo "${0%/*}" ;;
cosign) echo "$*" >>log ;;
git) echo 0123abc ;;
crane) echo sha256:cccc ;;
oras) for last; do :; done; echo "$last-bill" ;;
esac
`

// TestSign_withoutAKey checks what the workflow signs. `make test-signatures` runs the same script with a key, and verifies the signatures.
func TestSign_withoutAKey(t *testing.T) {
	root := t.TempDir()
	for _, program := range []string{"build", "cosign", "git", "crane", "oras"} {
		write(t, filepath.Join(root, "tools", program), fakeTools)
	}
	for file, content := range map[string]string{"images/a/index.json": `{"digest":"sha256:aaaa"}`, "sbom/a_linux_amd64.spdx.json": "",
		"sbom/a_linux_arm64.spdx.json": "", "sbom/a_v1.2.3_linux_arm64.spdx.json": ""} {
		write(t, filepath.Join(root, "dist", file), content)
	}
	script, err := filepath.Abs(inProject("tools", "release", "sign"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), script, "1.2.3", "registry.example.com/team")
	command.Dir = root
	command.Env = append(os.Environ(), "COSIGN_KEY=", "PATH="+filepath.Join(root, "tools")+":"+os.Getenv("PATH"))
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	const image, all = "registry.example.com/team/a@sha256:aaaa", "sign --yes --annotations commit=0123abc "
	want := all + "--recursive " + image + "\n" + strings.Repeat(all+image+"-bill\n", 2) +
		all + "registry.example.com/team/charts/echo-operator@sha256:cccc\n" +
		"sign-blob --yes --bundle dist/archives/checksums.txt.sigstore.json dist/archives/checksums.txt\n"
	if got := content(t, filepath.Join(root, "log")); got != want {
		t.Errorf("cosign is called as\n%swant\n%s", got, want)
	}
}

// TestWorkflowSigns checks that the workflow signs the release without a key, and that the documentation states the workflow's identity.
func TestWorkflowSigns(t *testing.T) {
	const file = ".github/workflows/release.yml"
	workflow, page := text(t, file), text(t, "docs", "how-to", "verify-a-release.md")
	if !strings.Contains(page, "https://github.com/echo-operator/echo-operator/"+file+"@refs/tags/v0.1.0\n") {
		t.Errorf("the page does not name %s", file)
	}
	for _, want := range []string{"tags: ['v*']", "id-token: write", "make release ", "git diff --exit-code", "make push-release\n", "make sign-release\n"} {
		_, workflow, _ = strings.Cut(workflow, want)
		if workflow == "" {
			t.Fatalf("%s has no %q, or has it in another place", file, want)
		}
	}
	if strings.Contains(text(t, file), "COSIGN_KEY") {
		t.Errorf("%s has a key", file)
	}
}
