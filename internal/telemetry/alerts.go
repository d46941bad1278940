package telemetry

import (
	_ "embed"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed alerts.yaml
var alerts string

// Objects returns the objects that the Prometheus Operator needs to monitor this operator: a ServiceMonitor for its metrics, and a
// PrometheusRule with alerts.
func Objects(namespace string) ([]*unstructured.Unstructured, error) {
	rules := map[string]any{}
	if err := yaml.Unmarshal([]byte(alerts), &rules); err != nil {
		return nil, fmt.Errorf("alerts.yaml: %w", err)
	}
	complete(rules, namespace)
	return []*unstructured.Unstructured{
		object("ServiceMonitor", namespace, map[string]any{
			"jobLabel": "app.kubernetes.io/name",
			"selector": map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": "echo-operator",
				"control-plane": "controller-manager"}},
			"endpoints": []any{map[string]any{
				"port": "https", "scheme": "https", "path": "/metrics",
				// This is Prometheus's own token. The operator asks the API server what the token's owner may read.
				"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
				// The certificate is self-signed, except on OpenShift.
				"tlsConfig": map[string]any{"insecureSkipVerify": true},
			}},
		}),
		object("PrometheusRule", namespace, rules),
	}, nil
}

// complete adds the URL of its runbook to each alert, and limits the alert for missing time series to the operator in the given namespace.
// Otherwise, an operator in another namespace would hide that this one does not respond.
func complete(value any, namespace string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			complete(item, namespace)
		}
	case map[string]any:
		if annotations, ok := value["annotations"].(map[string]any); ok {
			annotations["runbook_url"] = fmt.Sprintf(
				"https://github.com/echo-operator/echo-operator/blob/main/docs/runbooks/%v.md", value["alert"])
		}
		if labels, ok := value["labels"].(map[string]any); ok && value["alert"] == "EchoOperatorDown" {
			labels["namespace"] = namespace
			value["expr"] = fmt.Sprintf("absent(up{job=\"echo-operator\", namespace=%q} == 1)", namespace)
		}
		for _, field := range value {
			complete(field, namespace)
		}
	}
}

func object(kind, namespace string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion("monitoring.coreos.com/v1")
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName("echo-operator")
	o.SetLabels(map[string]string{"app.kubernetes.io/name": "echo-operator", "app.kubernetes.io/managed-by": "echo-operator"})
	return o
}
