package support

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// GatewayCRDs returns the files with the Gateway API CustomResourceDefinitions that the operator uses.
func GatewayCRDs(ctx context.Context) []string {
	GinkgoHelper()
	folder := filepath.Join(ModuleFolder(ctx, ".", "sigs.k8s.io/gateway-api"), "config", "crd", "standard")
	return crdFiles(folder, "gateway.networking.k8s.io", "gateways", "httproutes", "grpcroutes", "backendtlspolicies")
}

// MonitoringCRDs returns the files with the Prometheus Operator's CustomResourceDefinitions that the Echo Operator uses.
func MonitoringCRDs(ctx context.Context) []string {
	GinkgoHelper()
	module := ModuleFolder(ctx, "tools/prometheus-operator", "github.com/prometheus-operator/prometheus-operator")
	folder := filepath.Join(module, "example", "prometheus-operator-crd")
	return crdFiles(folder, "monitoring.coreos.com", "podmonitors", "servicemonitors", "prometheusrules")
}

// OpenShiftCRDs returns the path of a file with a CustomResourceDefinition of an OpenShift API group, or of the group's directory if the
// name of the file is empty.
func OpenShiftCRDs(ctx context.Context, group, file string) string {
	GinkgoHelper()
	return filepath.Join(ModuleFolder(ctx, ".", "github.com/openshift/api"), group, "v1", "zz_generated.crd-manifests", file)
}

// ModuleFolder returns the directory of a module. from is the directory of another module, which requires the given module.
func ModuleFolder(ctx context.Context, from, module string) string {
	GinkgoHelper()
	from = filepath.Join(Root(), from)
	Expect(exec.CommandContext(ctx, "go", "-C", from, "mod", "download", module).Run()).To(Succeed())
	folder, err := exec.CommandContext(ctx, "go", "-C", from, "list", "-m", "-f", "{{.Dir}}", module).Output()
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(folder))
}

// crdFiles returns the files that contain the CustomResourceDefinitions for the given resources of a group.
func crdFiles(folder, group string, resources ...string) []string {
	var files []string
	for _, resource := range resources {
		files = append(files, filepath.Join(folder, group+"_"+resource+".yaml"))
	}
	return files
}
