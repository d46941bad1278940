package telemetry

import (
	_ "embed"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Requests counts requests to the API server.
type Requests struct{ counter *prometheus.CounterVec }

func newRequests() *Requests {
	return &Requests{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "api_requests_total",
		Help: "Number of requests to the API server by verb, resource, and HTTP status code; the code is \"error\" if there was no response.",
	}, []string{"verb", "resource", "code"})}
}

// Wrap returns a transport that counts requests and sends them through next.
func (r *Requests) Wrap(next http.RoundTripper) http.RoundTripper {
	return &countedRequests{next, r.counter}
}

type countedRequests struct {
	next    http.RoundTripper
	counter *prometheus.CounterVec
}

// RoundTrip implements http.RoundTripper.
func (c *countedRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	code := "error"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	verb, resource := operationOf(r)
	c.counter.WithLabelValues(verb, resource, code).Inc()
	return response, err
}

// WrappedRoundTripper implements net.RoundTripperWrapper from k8s.io/apimachinery.
func (c *countedRequests) WrappedRoundTripper() http.RoundTripper { return c.next }

// operationOf returns the verb and the resource of a request in the form that RBAC rules use, such as "patch" and "echoes/status". For a
// non-resource request, such as a request for the API server's version, the resource is "none". The API server's URL may have a path
// prefix.
func operationOf(r *http.Request) (verb, resource string) {
	resource, named := resourceOf(r.URL.Path)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		switch watch := r.URL.Query().Get("watch"); {
		case watch == "true" || watch == "1":
			return "watch", resource
		case !named && resource != noResource:
			return "list", resource
		}
		return "get", resource
	case http.MethodPost:
		return "create", resource
	case http.MethodPut:
		return "update", resource
	case http.MethodDelete:
		if !named {
			return "deletecollection", resource
		}
		return "delete", resource
	default:
		return strings.ToLower(r.Method), resource
	}
}

const noResource = "none"

// resourceOf returns the resource in a path, and reports whether the path names an object.
func resourceOf(path string) (resource string, named bool) {
	parts := afterVersion(path)
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	switch len(parts) {
	case 0:
		return noResource, false
	case 1:
		return parts[0], false
	case 2:
		return parts[0], true
	default:
		return parts[0] + "/" + parts[2], true
	}
}

// afterVersion returns the segments of a path that follow the API version.
func afterVersion(path string) []string {
	_, rest, found := strings.Cut(path, "/api/")
	before := 1 // the API version
	if !found {
		_, rest, found = strings.Cut(path, "/apis/")
		before = 2 // the API group and version
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	if !found || len(parts) <= before {
		return nil
	}
	return parts[before:]
}

// runbooks is the URL of the directory that contains the alerts' runbooks.
const runbooks = "https://github.com/echo-operator/echo-operator/blob/main/docs/runbooks/"

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
			annotations["runbook_url"] = fmt.Sprintf("%s%v.md", runbooks, value["alert"])
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
