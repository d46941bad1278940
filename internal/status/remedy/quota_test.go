package remedy

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/echo-operator/echo-operator/internal/status/message"
)

// quotaResources maps each resource whose quota can reject the operator's objects to the rejected objects. An empty string means the
// Deployment's pods.
func quotaResources() map[string][]string {
	pods := []string{"", "the Pod web-echo-1", "the pods of the check"}
	resources := map[string][]string{"services": {"the Service x"}, "services.loadbalancers": {"the Service x"}, "services.nodeports": {"the Service x"}}
	for _, name := range []string{"requests.cpu", "limits.cpu", "requests.memory", "limits.memory", "requests.ephemeral-storage",
		"limits.ephemeral-storage", "cpu", "memory", "ephemeral-storage", "pods", "count/pods"} {
		resources[name] = pods
	}
	for name, object := range map[string]string{"services": "Service", "deployments.apps": "Deployment",
		"ingresses.networking.k8s.io": "Ingress", "networkpolicies.networking.k8s.io": "NetworkPolicy",
		"poddisruptionbudgets.policy": "PodDisruptionBudget", "cronjobs.batch": "CronJob", "jobs.batch": "Job",
		"httproutes.gateway.networking.k8s.io": "HTTPRoute", "grpcroutes.gateway.networking.k8s.io": "GRPCRoute",
		"backendtlspolicies.gateway.networking.k8s.io": "BackendTLSPolicy", "podmonitors.monitoring.coreos.com": "PodMonitor"} {
		resources["count/"+name] = []string{"the " + object + " x"}
	}
	return resources
}

// TestQuota covers the API server's messages from k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
func TestQuota(t *testing.T) {
	for resource, objects := range quotaResources() {
		numbers := "requested: " + resource + "=1, used: " + resource + "=2, limited: " + resource + "=2"
		for _, object := range objects {
			got := Quota(`things "x-1" is forbidden: exceeded quota: few, `+numbers, object)
			subject := object
			if object == "" {
				subject = "the pods"
			}
			if got.Text != "the resource quota few has no room for "+subject+" ("+resource+")" || got.Quote != numbers || got.Advice == "" {
				t.Errorf("%s of %q: got %+v", resource, object, got)
			}
			short := message.Short(message.MaxStatus, got, "0 of 2 pods are ready.")
			if !strings.Contains(short, "few") || !strings.Contains(short, resource) || !strings.Contains(short, got.Advice) {
				t.Errorf("%s of %q: the status has only %q", resource, object, short)
			}
		}
	}
}

func TestQuota_advice(t *testing.T) {
	for words, want := range map[string]string{
		"exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2":                                        "Raise it, or lower spec.replicas.",
		"exceeded quota: q, requested: limits.cpu=1,pods=1, used: limits.cpu=2,pods=2, limited: limits.cpu=2,pods=2": "Raise it, or lower spec.replicas or spec.resources.",
		"failed quota: q: must specify limits.cpu for: echo":                                                         "Set spec.resources.limits.cpu in the Echo, or a default in a LimitRange.",
		"failed quota: q: must specify cpu for: a,b; limits.memory for: b":                                           "Set spec.resources.requests.cpu and spec.resources.limits.memory in the Echo, or a default in a LimitRange.",
		"insufficient quota to match these scopes: [{PriorityClass In [high]}]":                                      "Create a ResourceQuota that does, or ask a cluster administrator.",
		"status unknown for quota: q, resources: pods":                                                               "",
		`violates PodSecurity "restricted:latest": the annotation is "exceeded quota: q"`:                            "",
	} {
		for _, before := range []string{"", `pods "x-1" is forbidden: `} {
			if got := Quota(before+words, ""); got.Advice != want {
				t.Errorf("%s%s: got %+v", before, words, got)
			}
		}
	}
}

func TestIsQuotaExceeded(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	for words, want := range map[string]bool{
		"exceeded quota: q, requested: services=1, used: services=1, limited: services=1": true,
		"failed quota: q: must specify limits.cpu for: echo":                              true,
		"no": false,
		`admission webhook "w" denied the request: services "x" is forbidden: exceeded quota: q`: false,
	} {
		if got := IsQuotaExceeded(apierrors.NewForbidden(services, "x", errors.New(words))); got != want {
			t.Errorf("%s: got %t", words, got)
		}
	}
	if IsQuotaExceeded(nil) || IsQuotaExceeded(errors.New("exceeded quota: q")) {
		t.Error("an error that is not the API server's counts as a quota")
	}
}
