package packaging

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// plugin is a manifest of krew.
type plugin struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description, Caveats string
		Platforms                                                 []struct{ URI, SHA256, Bin string }
	}
}

// TestKrewManifest checks what the index of krew requires.
func TestKrewManifest(t *testing.T) {
	manifest := read[plugin](t, "cmd", "kubectl-echo", "krew.yaml")
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" ||
		manifest.Metadata.Name != "echo" {
		t.Errorf("it is %+v", manifest)
	}
	if spec := manifest.Spec; spec.Version != "vVERSION" || spec.Description == "" || spec.ShortDescription == "" ||
		len(spec.ShortDescription) > 50 {
		t.Errorf("it has %+v", spec)
	}
	if !strings.Contains(manifest.Spec.Caveats, "/store/echo/vVERSION/kubectl_complete-echo") {
		t.Errorf("krew does not say how to enable the completion: %q", manifest.Spec.Caveats)
	}
}

// TestReleasedKrewManifest checks the archives of a release, if there are any.
func TestReleasedKrewManifest(t *testing.T) {
	file, err := os.ReadFile(inProject("dist", "kubectl-echo", "echo.yaml"))
	if os.IsNotExist(err) {
		t.Skip("no release")
	}
	manifest := plugin{}
	if err := yaml.Unmarshal(file, &manifest); err != nil || len(manifest.Spec.Platforms) == 0 {
		t.Fatalf("there are %d platforms: %v", len(manifest.Spec.Platforms), err)
	}
	for _, platform := range manifest.Spec.Platforms {
		archive := text(t, "dist", "kubectl-echo", path.Base(platform.URI))
		if digest := sha256.Sum256([]byte(archive)); hex.EncodeToString(digest[:]) != platform.SHA256 {
			t.Errorf("%s has another digest", platform.URI)
		}
		want := []string{platform.Bin, "LICENSE"}
		if platform.Bin == "kubectl-echo" { // Windows does not run scripts of a shell
			want = append(want, "kubectl_complete-echo")
		}
		if files := filesOf(t, archive); !slices.Equal(files, want) {
			t.Errorf("%s has the files %q", platform.URI, files)
		}
	}
}

// TestCompletionScript_isDocumented checks the script for installations that do not have it.
func TestCompletionScript_isDocumented(t *testing.T) {
	script := regexp.MustCompile(`(?m)^# .*\n`).ReplaceAllString(text(t, "cmd", "kubectl-echo", "kubectl_complete-echo"), "")
	if !strings.Contains(text(t, "docs", "reference", "kubectl-echo.md"), "```sh\n"+script+"```\n") {
		t.Errorf("docs/reference/kubectl-echo.md does not have the script\n%s", script)
	}
}

// filesOf returns the files in a compressed archive. Programs must be executable.
func filesOf(t *testing.T, archive string) []string {
	t.Helper()
	content, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != "LICENSE" && header.Mode != 0o755 {
			t.Errorf("%s has the mode %o", header.Name, header.Mode)
		}
		files = append(files, header.Name)
	}
}
