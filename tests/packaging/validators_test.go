package packaging

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/validation"
)

// TestValidators runs all validators from operator-sdk, the operator hubs, and preflight. Warnings are failures.
func TestValidators(t *testing.T) {
	imagesFor(t, "amd64", "arm64", "ppc64le", "s390x")
	objects := append(loadBundle(t).ObjectsToValidate(), map[string]string{"k8s-version": "1.37"})
	for _, result := range validation.AllValidators.Validate(objects...) {
		for _, finding := range slices.Concat(result.Errors, result.Warnings) {
			t.Errorf("%s: %v", result.Name, finding)
		}
	}
}

// imagesFor replaces PATH with a directory that contains only a fake docker program. The program reports that all images exist for Linux on
// the given architectures. The architecture validator compares labels and node affinity with the architectures of the images. The images do
// not exist yet, because a release is tested before its images are pushed.
func imagesFor(t *testing.T, architectures ...string) {
	t.Helper()
	docker := "#!/bin/sh\n[ $1 = pull ] || echo '{\"manifests\":[{}"
	for _, architecture := range architectures {
		docker += `,{"platform":{"os":"linux","architecture":"` + architecture + `"}}`
	}
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "docker"), []byte(docker+"]}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
}
