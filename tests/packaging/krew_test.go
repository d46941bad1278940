package packaging

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// plugin is the plugin's krew manifest.
type plugin struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description, Caveats string
		Platforms                                                 []struct{ URI, SHA256, Bin string }
	}
}

// TestKrewManifest checks that the manifest meets the requirements of the krew index.
func TestKrewManifest(t *testing.T) {
	manifest := read[plugin](t, "cmd", "kubectl-echo", "krew.yaml")
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" ||
		manifest.Metadata.Name != "echo-operator" {
		t.Errorf("the manifest is %+v", manifest)
	}
	if spec := manifest.Spec; spec.Version != "vVERSION" || spec.Description == "" || spec.ShortDescription == "" ||
		len(spec.ShortDescription) > 50 {
		t.Errorf("the manifest has %+v", spec)
	}
	if !strings.Contains(manifest.Spec.Caveats, `/store/echo-operator/vVERSION/kubectl_complete-echo" "${KREW_ROOT:-$HOME/.krew}/bin/kubectl_complete-echo_operator"`) {
		t.Errorf("the caveats do not explain how to enable the completion: %q", manifest.Spec.Caveats)
	}
}

// smallProgram returns a small Go program.
func smallProgram(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", file, "./tools/notices")
	command.Dir = inProject()
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return content(t, file)
}

// TestArchives creates archives that contain small programs. It checks their contents and checksums, and the plugin's manifest.
func TestArchives(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"LICENSE", "cmd", "go.mod", "go.sum", "tools"} {
		symlink(t, inProject(file), filepath.Join(root, file))
	}
	want, written := map[string][]string{}, smallProgram(t)
	for platform, suffix := range map[string]string{"linux_arm64": "", "darwin_amd64": "", "windows_amd64": ".exe"} {
		for _, program := range []string{"echo-server", "kubectl-echo", "pathcheck"} {
			write(t, filepath.Join(root, "bin", strings.ReplaceAll(platform, "_", "-"), program+suffix), written)
			want[program+"_v1.2.3_"+platform+".tar.gz"] = []string{program + suffix, "LICENSE", "NOTICES"}
		}
	}
	for _, platform := range []string{"linux_arm64", "darwin_amd64"} { // not for Windows, which does not run shell scripts
		name := "kubectl-echo_v1.2.3_" + platform + ".tar.gz"
		want[name] = append(want[name], "kubectl_complete-echo")
	}
	command := exec.CommandContext(t.Context(), filepath.Join(root, "tools/make/archives"), "1.2.3", "linux/arm64", "darwin/amd64", "windows/amd64")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	checkArchives(t, filepath.Join(root, "dist", "archives"), want)
}

// checkArchives checks that the archives in a directory contain the given files, and that the checksums and manifest cover them all.
func checkArchives(t *testing.T, folder string, want map[string][]string) {
	t.Helper()
	var checksums strings.Builder
	digests := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		archive := content(t, filepath.Join(folder, name))
		var files []string
		for _, file := range unpack(t, []byte(archive)) {
			files = append(files, file.name)
			if file.name != "LICENSE" && file.name != "NOTICES" && file.mode != 0o755 {
				t.Errorf("%s: %s has the mode %o", name, file.name, file.mode)
			}
		}
		if !slices.Equal(files, want[name]) {
			t.Errorf("%s has the files %q, want %q", name, files, want[name])
		}
		digest := sha256.Sum256([]byte(archive))
		digests[name] = hex.EncodeToString(digest[:])
		_, _ = fmt.Fprintf(&checksums, "%s  %s\n", digests[name], name)
	}
	if got := content(t, filepath.Join(folder, "checksums.txt")); got != checksums.String() {
		t.Errorf("checksums.txt has\n%swant\n%s", got, &checksums)
	}
	manifest := plugin{}
	err := yaml.Unmarshal([]byte(content(t, filepath.Join(folder, "echo-operator.yaml"))), &manifest)
	if err != nil || len(manifest.Spec.Platforms)*3 != len(want) || manifest.Spec.Version != "v1.2.3" {
		t.Errorf("the manifest is %+v, %v", manifest, err)
	}
	for _, platform := range manifest.Spec.Platforms {
		name := path.Base(platform.URI)
		if platform.SHA256 != digests[name] || platform.Bin != want[name][0] ||
			platform.URI != "https://github.com/echo-operator/echo-operator/releases/download/v1.2.3/"+name {
			t.Errorf("the manifest has %+v", platform)
		}
	}
}

// TestCompletionScript_isDocumented checks that the documentation contains the completion script for users whose installation lacks it.
func TestCompletionScript_isDocumented(t *testing.T) {
	script := regexp.MustCompile(`(?m)^# .*\n`).ReplaceAllString(text(t, "cmd", "kubectl-echo", "kubectl_complete-echo"), "")
	if !strings.Contains(text(t, "docs", "reference", "kubectl-echo.md"), "```sh\n"+script+"```\n") {
		t.Errorf("docs/reference/kubectl-echo.md does not have the script\n%s", script)
	}
}
