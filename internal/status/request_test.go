package status

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// failed returns the error from a failed request for a child.
func failedRequest(kind string, err error) error {
	return &objects.RequestError{Action: objects.Applying, Kind: kind, Key: client.ObjectKey{Namespace: "ns", Name: "x"}, Err: err}
}

func TestRemedy(t *testing.T) {
	ingresses := schema.GroupResource{Group: "networking.k8s.io", Resource: "ingresses"}
	const denial = `admission webhook "w.example.org" denied the request: no`
	for name, c := range map[string]struct {
		err  error
		want message.Problem
	}{
		"a spec that the operator refuses": {&objects.InvalidSpecError{Message: "a", Quote: "b", Advice: "c"},
			message.Problem{Text: "a", Quote: "b", Advice: "c"}},
		"a name that is taken": {&objects.NameConflictError{Kind: "Service", Name: "x", For: "Echo", Advice: "Delete it."},
			message.Problem{Text: "The Service x already exists, was not created for this Echo, and is not changed", Advice: "Delete it."}},
		"a denial": {failedRequest("Ingress", codedError(403, denial)),
			message.Problem{Text: "an admission webhook or policy denies the Ingress x", Quote: denial, Advice: policy}},
		"a quota": {failedRequest("Ingress", apierrors.NewForbidden(ingresses, "x", errors.New("exceeded quota: q, requested: "+
			"count/ingresses.networking.k8s.io=1, used: count/ingresses.networking.k8s.io=1, limited: count/ingresses.networking.k8s.io=1"))),
			message.Problem{Text: "a resource quota rejects the Ingress x",
				Quote: "exceeded quota: q, requested: count/ingresses.networking.k8s.io=1, used: count/ingresses.networking.k8s.io=1, " +
					"limited: count/ingresses.networking.k8s.io=1",
				Advice: "Raise it, or delete other objects."}},
		"no permission": {failedRequest("Ingress", apierrors.NewForbidden(ingresses, "x", errors.New(`User "u" cannot patch resource "ingresses"`))),
			message.Problem{Text: "the operator has no permission for the Ingress x",
				Quote:  `ingresses.networking.k8s.io "x" is forbidden: User "u" cannot patch resource "ingresses"`,
				Advice: "Ask an administrator to restore the roles of the operator."}},
		"a webhook that is down": {failedRequest("Ingress", apierrors.NewInternalError(errors.New(`failed calling webhook "w": refused`))),
			message.Problem{Text: "the Ingress x cannot be applied", Quote: `Internal error occurred: failed calling webhook "w": refused`,
				Advice: "Check that the webhook's Service is available. The operator retries automatically."}},
		"no connection": {failedRequest("Ingress", errors.New("connection refused")),
			message.Problem{Text: "the Ingress x cannot be applied", Quote: "connection refused", Advice: retried}},
		"no request for a child": {errors.New("listing the pods: connection refused"),
			message.Problem{Text: "the operator cannot complete a change", Quote: "listing the pods: connection refused", Advice: retried}},
	} {
		NewWithT(t).Expect(Remedy(c.err)).To(Equal(c.want), name)
	}
}

// TestOf_invalid checks that the API server's words name the fields, and that the advice names the fields of the Echo.
func TestRemedy_invalid(t *testing.T) {
	for kind, advice := range map[string]string{"Service": "Change spec.service in the Echo.", "CronJob": "Change spec.checks in the Echo.",
		"Deployment": "Change the spec in the Echo."} {
		err := apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "x", field.ErrorList{
			field.Invalid(field.NewPath("spec", "ipFamilies").Index(0), "IPv6", "not configured on this cluster"),
			field.Required(field.NewPath("spec", "type"), "")})
		NewWithT(t).Expect(Remedy(failedRequest(kind, err))).To(Equal(message.Problem{Text: "the API server rejects the " + kind + " x",
			Quote:  `[spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster, spec.type: Required value]`,
			Advice: advice}))
	}
}

// TestQuota covers the API server's messages from k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
func TestQuota(t *testing.T) {
	const exceeded = "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"
	const unset = "failed quota: q: must specify cpu for: a,b; limits.memory for: b"
	for name, c := range map[string]struct{ words, object, text, advice string }{
		"the pods": {exceeded, "", "a resource quota rejects the pods", "Raise it, or lower spec.replicas or spec.resources."},
		"a child":  {exceeded, "the Service x", "a resource quota rejects the Service x", "Raise it, or delete other objects."},
		"unset":    {unset, "", "a resource quota rejects the pods", "Set spec.resources in the Echo, or a default in a LimitRange."},
		"no quota allows it": {"insufficient quota to match these scopes: [{PriorityClass In [high]}]", "", "a resource quota rejects the pods",
			"Create a ResourceQuota that allows this, or ask a cluster administrator."},
		"not computed yet": {"status unknown for quota: q, resources: pods", "", "", ""},
		"no quota":         {`violates PodSecurity "restricted:latest": the annotation is "exceeded quota: q"`, "", "", ""},
	} {
		for _, before := range []string{"", `pods "x-1" is forbidden: `} {
			want := message.Problem{Text: c.text, Advice: c.advice}
			if c.text != "" {
				want.Quote = c.words
			}
			NewWithT(t).Expect(quotaRemedy(before+c.words, c.object)).To(Equal(want), name)
		}
	}
}

func TestIsQuotaExceeded(t *testing.T) {
	for words, want := range map[string]bool{
		"exceeded quota: q, requested: services=1, used: services=1, limited: services=1": true,
		"no": false,
		`admission webhook "w" denied the request: services "x" is forbidden: exceeded quota: q`: false,
	} {
		NewWithT(t).Expect(IsQuotaExceeded(apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "x", errors.New(words)))).To(
			Equal(want), words)
	}
	NewWithT(t).Expect(IsQuotaExceeded(nil) || IsQuotaExceeded(errors.New("exceeded quota: q"))).To(BeFalse(), "not from the API server")
}

// coded returns an API server error with the given code.
func codedError(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
}

// TestIsDenied covers the API server's messages from k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go and
// k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go.
func TestIsDenied(t *testing.T) {
	const webhook, policy = `admission webhook "w.example.org" denied the request`, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
	for _, code := range []int32{400, 401, 403, 404, 409, 413, 422, 429, 500} {
		for message, want := range map[string]bool{
			webhook + ": no":                                                                  true,
			webhook + ": exceeded quota: q":                                                   true,
			webhook + " without explanation":                                                  true,
			`deployments.apps "x" is forbidden: ` + policy:                                    true,
			`deployments.apps "x" is forbidden: policy "p" denied request: no`:                true,
			`failed calling webhook "w.example.org": no`:                                      false,
			`admission webhook "w.example.org" does not support dry run`:                      false,
			`deployments.apps "x" is forbidden: User "u" cannot patch resource "deployments"`: false,
		} {
			err := fmt.Errorf("applying: %w", codedError(code, message))
			if got := IsDenied(err); got != want {
				t.Errorf("%d %s: got %t", code, message, got)
			}
		}
	}
	if IsDenied(nil) || IsDenied(errors.New(webhook)) {
		t.Error("an error that is not the API server's counts as a denial")
	}
}
