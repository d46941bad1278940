package support

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// ConsoleCRDs returns the folder of the CustomResourceDefinitions of the OpenShift console.
func ConsoleCRDs(ctx context.Context) string {
	GinkgoHelper()
	return filepath.Join(openshiftAPI(ctx), "console", "v1", "zz_generated.crd-manifests")
}

// APIServerCRD returns the file of the CustomResourceDefinition APIServer of OpenShift, which has the TLS profile of a cluster.
func APIServerCRD(ctx context.Context) string {
	GinkgoHelper()
	return filepath.Join(openshiftAPI(ctx), "config", "v1", "zz_generated.crd-manifests", "0000_10_config-operator_01_apiservers-Default.crd.yaml")
}

// openshiftAPI returns the folder of the module github.com/openshift/api.
func openshiftAPI(ctx context.Context) string {
	GinkgoHelper()
	folder, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(folder))
}
