package realcluster

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
)

// Prometheus is a Prometheus instance on the test cluster.
type Prometheus struct{ namespace string }

// InstallPrometheus installs the Prometheus Operator and a Prometheus instance in a namespace. The Echo Operator checks for the Prometheus
// Operator's API only at startup. The suite must delete all objects that have TestLabel.
func InstallPrometheus(ctx context.Context, namespace string) Prometheus {
	GinkgoHelper()
	p := Prometheus{namespace}
	folder := filepath.Dir(support.MonitoringCRDs(ctx)[0])
	Kubectl(ctx, "apply", "--server-side", "-f", folder)
	Kubectl(ctx, "label", "--overwrite", "-f", folder, support.TestLabel+"=true")
	WaitForCRDs(ctx, "-f", folder, "--timeout=5m")
	manifest, err := os.ReadFile(filepath.Join(support.Root(), "tests", "support", "realcluster", "prometheus.yaml"))
	Expect(err).NotTo(HaveOccurred())
	KubectlInput(ctx, strings.ReplaceAll(string(manifest), "NAMESPACE", p.namespace), "apply", "-n", p.namespace, "-f", "-")
	binding := "prometheus-reads-echo-operator"
	Kubectl(ctx, "create", "clusterrolebinding", binding, "--clusterrole=echo-operator-metrics-reader",
		"--serviceaccount="+p.namespace+":prometheus")
	Kubectl(ctx, "label", "clusterrolebinding", binding, support.TestLabel+"=true")
	return p
}

// Sample is a time series in a query result, with its current value.
type Sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"` // Unix time, and the value as a string
}

// Query returns a query's current result.
func (p Prometheus) Query(ctx context.Context, g Gomega, expression string) []Sample {
	return p.get(ctx, g, "query?query="+url.QueryEscape(expression)).Result
}

// Alert is a pending or firing alert.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
}

// Firing returns the operator's firing alerts, by name.
func (p Prometheus) Firing(ctx context.Context, g Gomega) map[string]Alert {
	found := map[string]Alert{}
	for _, a := range p.get(ctx, g, "alerts").Alerts {
		if a.State == "firing" {
			found[a.Labels["alertname"]] = a
		}
	}
	return found
}

// Target is an endpoint that Prometheus scrapes.
type Target struct {
	Labels    map[string]string `json:"labels"`
	Health    string            `json:"health"`
	LastError string            `json:"lastError"`
}

// Targets returns all endpoints that Prometheus scrapes.
func (p Prometheus) Targets(ctx context.Context, g Gomega) []Target {
	return p.get(ctx, g, "targets?state=active").ActiveTargets
}

// data contains the data in a Prometheus response. Each API path sets a different field.
type data struct {
	Result        []Sample `json:"result"`
	Alerts        []Alert  `json:"alerts"`
	ActiveTargets []Target `json:"activeTargets"`
}

// get sends a request to Prometheus through the API server.
func (p Prometheus) get(ctx context.Context, g Gomega, path string) data {
	output, err := TryKubectl(ctx, "get", "--raw", "/api/v1/namespaces/"+p.namespace+"/services/prometheus-operated:web/proxy/api/v1/"+path)
	g.Expect(err).NotTo(HaveOccurred())
	var response struct {
		Data data `json:"data"`
	}
	g.Expect(json.Unmarshal([]byte(output), &response)).To(Succeed(), output)
	return response.Data
}
