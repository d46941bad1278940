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

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
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
		"over the limit": {&objects.InvalidSpecError{Message: "too many"}, &Failure{Reason: v1.ReasonInvalidSpec, NoRetry: true}},
		"invalid":        {apierrors.NewInvalid(schema.GroupKind{}, "x", nil), &Failure{Reason: v1.ReasonInvalidSpec}},
		"denied": {coded(400, `admission webhook "w.example.org" denied the request: no`),
			&Failure{Reason: v1.ReasonForbidden, Transient: true}},
		"name taken": {&objects.NameConflictError{Kind: "Service", Name: "x"},
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

// coded returns an error from the API server with the given status code.
func coded(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
}

func TestEvaluate_silentFailureKeepsStatus(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Status.Phase = v1.PhaseReady })
	unchanged := Report{Status: echo.Status}
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
