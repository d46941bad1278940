package monitoring

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

// prometheus is a Prometheus on the test cluster.
type prometheus struct{ namespace string }

// installPrometheus runs the Prometheus Operator and a Prometheus, and restarts the operator, which asks for its API only at its start.
func installPrometheus(ctx context.Context) prometheus {
	GinkgoHelper()
	p := prometheus{namespaces.New(ctx)}
	folder := filepath.Dir(support.MonitoringCRDs(ctx)[0])
	support.Kubectl(ctx, "apply", "--server-side", "-f", folder)
	support.Kubectl(ctx, "label", "--overwrite", "-f", folder, support.TestLabel+"=true")
	support.Kubectl(ctx, "wait", "--for=condition=Established", "-f", folder, waitTimeout)
	manifest, err := os.ReadFile("testdata/prometheus.yaml")
	Expect(err).NotTo(HaveOccurred())
	support.KubectlInput(ctx, strings.ReplaceAll(string(manifest), "NAMESPACE", p.namespace), "apply", "-n", p.namespace, "-f", "-")
	binding := "prometheus-reads-echo-operator"
	support.Kubectl(ctx, "create", "clusterrolebinding", binding, "--clusterrole=echo-operator-metrics-reader", "--serviceaccount="+p.namespace+":prometheus")
	support.Kubectl(ctx, "label", "clusterrolebinding", binding, support.TestLabel+"=true")
	restartOperator(ctx)
	return p
}

func restartOperator(ctx context.Context) {
	GinkgoHelper()
	support.Kubectl(ctx, "rollout", "restart", "-n", operatorNamespace, operatorDeployment)
	support.Kubectl(ctx, "rollout", "status", "-n", operatorNamespace, operatorDeployment, waitTimeout)
}

// sample is a time series in the result of a query.
type sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"` // Unix time, and the value as a text
}

// query returns the result of a query now.
func (p prometheus) query(ctx context.Context, g Gomega, expression string) []sample {
	var answer struct {
		Data struct {
			Result []sample `json:"result"`
		} `json:"data"`
	}
	p.get(ctx, g, "query?query="+url.QueryEscape(expression), &answer)
	return answer.Data.Result
}

// alert is an alert that is pending or fires.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
}

// firing returns the names of the alerts of the operator that fire, each once.
func (p prometheus) firing(ctx context.Context, g Gomega) map[string]alert {
	var answer struct {
		Data struct {
			Alerts []alert `json:"alerts"`
		} `json:"data"`
	}
	p.get(ctx, g, "alerts", &answer)
	found := map[string]alert{}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			found[a.Labels["alertname"]] = a
		}
	}
	return found
}

// target is an endpoint that Prometheus reads.
type target struct {
	Labels    map[string]string `json:"labels"`
	Health    string            `json:"health"`
	LastError string            `json:"lastError"`
}

// targets returns all endpoints that Prometheus reads.
func (p prometheus) targets(ctx context.Context, g Gomega) []target {
	var answer struct {
		Data struct {
			ActiveTargets []target `json:"activeTargets"`
		} `json:"data"`
	}
	p.get(ctx, g, "targets?state=active", &answer)
	return answer.Data.ActiveTargets
}

// get asks Prometheus through the API server.
func (p prometheus) get(ctx context.Context, g Gomega, path string, answer any) {
	output, err := support.TryKubectl(ctx, "get", "--raw", "/api/v1/namespaces/"+p.namespace+"/services/prometheus-operated:web/proxy/api/v1/"+path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal([]byte(output), answer)).To(Succeed(), output)
}
