package support

import (
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// ConsoleCRDs returns the folder of the CustomResourceDefinitions of the OpenShift console, in the module github.com/openshift/api.
func ConsoleCRDs() string {
	GinkgoHelper()
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(strings.TrimSpace(string(folder)), "console", "v1", "zz_generated.crd-manifests")
}
