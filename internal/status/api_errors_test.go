package status

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestClassify(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	terminating := apierrors.NewForbidden(things, "x", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err  error
		want *Failure
	}{
		"no error":       {},
		"over the limit": {&children.InvalidSpecError{Message: "too many"}, &Failure{Reason: v1.ReasonInvalidSpec, NoRetry: true}},
		"invalid":        {apierrors.NewInvalid(schema.GroupKind{}, "x", nil), &Failure{Reason: v1.ReasonInvalidSpec}},
		"denied": {coded(400, `admission webhook "w.example.org" denied the request: no`),
			&Failure{Reason: v1.ReasonForbidden, Transient: true}},
		"name taken": {&children.NameConflictError{Kind: "Service", Name: "x"},
			&Failure{Reason: v1.ReasonNameConflict, RetryAfter: time.Minute}},
		"conflict":              {apierrors.NewConflict(things, "x", errors.New("old")), &Failure{Reason: v1.ReasonApplyFailed, Transient: true}},
		"namespace terminating": {terminating, &Failure{NoRetry: true}},
		"forbidden":             {apierrors.NewForbidden(things, "x", errors.New("no")), &Failure{Reason: v1.ReasonForbidden, Transient: true}},
		"definition terminating": {apierrors.NewForbidden(things, "x",
			errors.New("create not allowed while custom resource definition is terminating")),
			&Failure{RetryAfter: definitionRetry}},
		"quota exceeded": {apierrors.NewForbidden(things, "x", errors.New("exceeded quota: q")),
			&Failure{Reason: v1.ReasonQuotaExceeded, Transient: true}},
		"too many requests": {apierrors.NewTooManyRequests("later", 1), &Failure{Reason: v1.ReasonApplyFailed, Transient: true}},
		"no connection":     {errors.New("connection refused"), &Failure{Reason: v1.ReasonApplyFailed, Transient: true}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err
			if err != nil {
				err = fmt.Errorf("applying: %w", err)
				c.want.Err = err
			}
			got := Classify(err)
			NewWithT(t).Expect(got).To(BeComparableTo(c.want, cmpopts.EquateErrors()))
			if silent := got.Silent(); silent != (got != nil && got.Reason == nil) {
				t.Errorf("Silent is %t", silent)
			}
		})
	}
}

// coded returns a response of the API server with a code.
func coded(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
}

// TestIsDenied has the messages of the API server: k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go, and dispatcher.go
// in the directory policy/validating next to it.
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
			err := fmt.Errorf("applying: %w", coded(code, message))
			if got := IsDenied(err); got != want {
				t.Errorf("%d %s: got %t", code, message, got)
			}
			if want && Classify(err).Reason != v1.ReasonForbidden {
				t.Errorf("%d %s: the reason is %s", code, message, Classify(err).Reason)
			}
		}
	}
	if IsDenied(nil) || IsDenied(errors.New(webhook)) {
		t.Error("what the API server did not say is a denial")
	}
}

func TestSilentFailuresLeaveTheStatusAsItIs(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Status.Phase = v1.PhaseReady })
	unchanged := Report{Status: echo.Status, Silent: true}
	for name, failure := range map[string]*Failure{
		"tolerated":        {Err: errors.New("no"), Reason: v1.ReasonApplyFailed, Transient: true, Tolerated: true},
		"without a reason": {Err: errors.New("no"), NoRetry: true},
	} {
		g.Expect(Evaluate(echo, Observation{}, failure, time.Now())).To(BeComparableTo(unchanged), name)
		g.Expect(EvaluateDeletion(echo, Observation{}, failure, time.Now())).To(BeComparableTo(unchanged), "%s, deleted", name)
	}
}

func TestNameWasTaken(t *testing.T) {
	for reason, want := range map[v1.Reason]bool{nil: false, v1.ReasonNameConflict: true, v1.ReasonInvalidSpec: false} {
		echo := &v1.Echo{}
		if reason != nil {
			echo.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Reason: reason.String()}}
		}
		NewWithT(t).Expect(NameWasTaken(echo)).To(Equal(want), "%v", reason)
	}
}

func TestAdviceOnService(t *testing.T) {
	refused := func(kind string, paths ...string) error {
		var all field.ErrorList
		for _, path := range paths {
			all = append(all, field.Invalid(field.NewPath(path), "x", "no"))
		}
		return fmt.Errorf("applying: %w", apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "x", all))
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a family of another cluster": {refused("Service", "spec.ipFamilies[0]"), "Change or remove spec.service.ipFamilies of the Echo."},
		"two fields, one twice": {refused("Service", "spec.ipFamilyPolicy", "spec.ipFamilies[0]", "spec.ipFamilies[1]"),
			"Change or remove spec.service.ipFamilies and spec.service.ipFamilyPolicy of the Echo."},
		"with a capital letter": {refused("Service", "spec.LoadBalancerSourceRanges[2]"),
			"Change or remove spec.service.loadBalancerSourceRanges of the Echo."},
		"an annotation":                 {refused("Service", "metadata.annotations"), "Change or remove spec.service.annotations of the Echo."},
		"what no field of the Echo is":  {refused("Service", "spec.ports[0].nodePort", "spec.clusterIPs"), ""},
		"another kind":                  {refused("Deployment", "spec.sessionAffinity"), ""},
		"no field":                      {refused("Service"), ""},
		"no response of the API server": {errors.New("no"), ""},
	} {
		NewWithT(t).Expect(adviceOnService(c.err)).To(Equal(c.want), name)
	}
}

func TestTheStatusNamesTheFieldThatTheAPIServerRefuses(t *testing.T) {
	g := NewWithT(t)
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", field.ErrorList{
		field.Invalid(field.NewPath("spec", "ipFamilies").Index(0), "IPv6", "not configured on this cluster")})
	status := Evaluate(support.Echo("ns", "x"), Observation{}, Classify(fmt.Errorf("applying Service ns/x: %w", err)), time.Now()).Status
	const want = `applying Service ns/x: Service "x" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster. ` +
		"Change or remove spec.service.ipFamilies of the Echo."
	g.Expect(status.Message).To(Equal(want))
	g.Expect(status.Phase).To(Equal(v1.PhaseFailed))
}
