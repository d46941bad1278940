package support

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// GatewayCRDs returns the files of the CustomResourceDefinitions of Gateway API that the operator uses.
func GatewayCRDs(ctx context.Context) []string {
	GinkgoHelper()
	folder, err := exec.CommandContext(ctx, "go", "-C", Root(), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	Expect(err).NotTo(HaveOccurred())
	var files []string
	for _, resource := range []string{"gateways", "httproutes", "grpcroutes", "backendtlspolicies"} {
		files = append(files, filepath.Join(strings.TrimSpace(string(folder)), "config", "crd", "standard", "gateway.networking.k8s.io_"+resource+".yaml"))
	}
	return files
}
