package remedy

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// failed returns the error from a failed request for a child.
func failed(kind string, err error) error {
	return &children.RequestError{Action: children.Applying, Kind: kind, Key: client.ObjectKey{Namespace: "ns", Name: "x"}, Err: err}
}

func TestOf(t *testing.T) {
	ingresses := schema.GroupResource{Group: "networking.k8s.io", Resource: "ingresses"}
	const denial = `admission webhook "w.example.org" denied the request: no`
	for name, c := range map[string]struct {
		err  error
		want message.Problem
	}{
		"a spec that the operator refuses": {&children.InvalidSpecError{Message: "a", Quote: "b", Advice: "c"},
			message.Problem{Text: "a", Quote: "b", Advice: "c"}},
		"a name that is taken": {&children.NameConflictError{Kind: "Service", Name: "x", For: "Echo", Advice: "Delete it."},
			message.Problem{Text: "The Service x already exists, was not created for this Echo, and is not changed", Advice: "Delete it."}},
		"a denial": {failed("Ingress", coded(403, denial)),
			message.Problem{Text: "an admission webhook or policy denies the Ingress x", Quote: denial, Advice: policy}},
		"a quota": {failed("Ingress", apierrors.NewForbidden(ingresses, "x", errors.New("exceeded quota: q, requested: "+
			"count/ingresses.networking.k8s.io=1, used: count/ingresses.networking.k8s.io=1, limited: count/ingresses.networking.k8s.io=1"))),
			message.Problem{Text: "the resource quota q has no room for the Ingress x (count/ingresses.networking.k8s.io)",
				Quote: "requested: count/ingresses.networking.k8s.io=1, used: count/ingresses.networking.k8s.io=1, " +
					"limited: count/ingresses.networking.k8s.io=1",
				Advice: "Raise it, or delete other objects."}},
		"no permission": {failed("Ingress", apierrors.NewForbidden(ingresses, "x", errors.New(`User "u" cannot patch resource "ingresses"`))),
			message.Problem{Text: "the operator has no permission for the Ingress x",
				Quote:  `ingresses.networking.k8s.io "x" is forbidden: User "u" cannot patch resource "ingresses"`,
				Advice: "Ask an administrator to restore the roles of the operator."}},
		"a webhook that is down": {failed("Ingress", apierrors.NewInternalError(errors.New(`failed calling webhook "w": refused`))),
			message.Problem{Text: "the Ingress x cannot be applied", Quote: `Internal error occurred: failed calling webhook "w": refused`,
				Advice: "Check that the webhook's Service is available. The operator retries automatically."}},
		"no connection": {failed("Ingress", errors.New("connection refused")),
			message.Problem{Text: "the Ingress x cannot be applied", Quote: "connection refused", Advice: retried}},
		"no request for a child": {errors.New("listing the pods: connection refused"),
			message.Problem{Text: "the operator cannot complete a change", Quote: "listing the pods: connection refused", Advice: retried}},
	} {
		NewWithT(t).Expect(Of(c.err)).To(Equal(c.want), name)
	}
}

// TestOf_fields checks that the advice refers to fields by their names in the Echo.
func TestOf_fields(t *testing.T) {
	for name, c := range map[string]struct {
		kind  string
		paths []string
		want  string
	}{
		"a family of another cluster": {"Service", []string{"spec.ipFamilies[0]"}, "Change or remove spec.service.ipFamilies in the Echo."},
		"two fields, one twice": {"Service", []string{"spec.ipFamilyPolicy", "spec.ipFamilies[0]", "spec.ipFamilies[1]"},
			"Change or remove spec.service.ipFamilies and spec.service.ipFamilyPolicy in the Echo."},
		"with a capital letter": {"Service", []string{"spec.LoadBalancerSourceRanges[2]"},
			"Change or remove spec.service.loadBalancerSourceRanges in the Echo."},
		"an annotation of the Service": {"Service", []string{"metadata.annotations"}, "Change or remove spec.service.annotations in the Echo."},
		"not a field of the Echo":      {"Service", []string{"spec.clusterIPs"}, "Check spec.service in the Echo."},
		"no field":                     {"Service", nil, "Check spec.service in the Echo."},
		"a class":                      {"Ingress", []string{"spec.ingressClassName"}, "Change or remove spec.ingress.className in the Echo."},
		"a certificate":                {"Ingress", []string{"spec.tls[0].secretName"}, "Change or remove spec.ingress.tlsSecretName in the Echo."},
		"a variable": {"Deployment", []string{"spec.template.spec.containers[0].env[3].valueFrom.fieldRef.fieldPath"},
			"Change or remove spec.env in the Echo."},
		"a context of the pods": {"Deployment", []string{"spec.template.spec.securityContext.sysctls[0].name"},
			"Change or remove spec.podSecurityContext in the Echo."},
		"a context of the container": {"Deployment", []string{"spec.template.spec.containers[0].securityContext"},
			"Change or remove spec.securityContext in the Echo."},
		"an annotation of the pods": {"Deployment", []string{"spec.template.annotations"}, "Change or remove spec.podAnnotations in the Echo."},
		"a request":                 {"Deployment", []string{"spec.template.spec.containers[0].resources.requests[cpu]"}, "Change or remove spec.resources in the Echo."},
		"a peer":                    {"NetworkPolicy", []string{"spec.ingress[0].from[0].ipBlock.cidr"}, "Change or remove spec.networkPolicy.from in the Echo."},
		"a schedule":                {"CronJob", []string{"spec.schedule"}, "Change or remove spec.checks.schedule in the Echo."},
		"a kind without fields":     {"PodMonitor", []string{"spec.selector"}, "Change the Echo's field that sets it."},
	} {
		var all field.ErrorList
		for _, path := range c.paths {
			all = append(all, field.Invalid(field.NewPath(path), "x", "no"))
		}
		got := Of(failed(c.kind, apierrors.NewInvalid(schema.GroupKind{Kind: c.kind}, "x", all)))
		NewWithT(t).Expect(got.Advice).To(Equal(c.want), name)
		NewWithT(t).Expect(got.Text).To(Equal("the API server rejects the " + c.kind + " x"))
	}
}

func TestOf_quotesTheFields(t *testing.T) {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", field.ErrorList{
		field.Invalid(field.NewPath("spec", "ipFamilies").Index(0), "IPv6", "not configured on this cluster"),
		field.Required(field.NewPath("spec", "type"), "")})
	NewWithT(t).Expect(Of(failed("Service", err)).Quote).To(Equal(
		`spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster; spec.type: Required value`))
}
