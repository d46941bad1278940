package support

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// MonitoringCRDs returns the files of the CustomResourceDefinitions of the Prometheus Operator that the operator uses.
func MonitoringCRDs(ctx context.Context) []string {
	GinkgoHelper()
	const module = "github.com/prometheus-operator/prometheus-operator"
	tools := filepath.Join(Root(), "tools", "prometheus-operator")
	_, err := exec.CommandContext(ctx, "go", "-C", tools, "mod", "download", module).Output()
	Expect(err).NotTo(HaveOccurred())
	folder, err := exec.CommandContext(ctx, "go", "-C", tools, "list", "-m", "-f", "{{.Dir}}", module).Output()
	Expect(err).NotTo(HaveOccurred())
	var files []string
	for _, resource := range []string{"podmonitors", "servicemonitors", "prometheusrules"} {
		files = append(files, filepath.Join(strings.TrimSpace(string(folder)), "example", "prometheus-operator-crd", "monitoring.coreos.com_"+resource+".yaml"))
	}
	return files
}
