package support

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// ConsoleCRDs returns the folder of the CustomResourceDefinitions of the OpenShift console, in the module github.com/openshift/api.
func ConsoleCRDs(ctx context.Context) string {
	GinkgoHelper()
	folder, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(strings.TrimSpace(string(folder)), "console", "v1", "zz_generated.crd-manifests")
}
