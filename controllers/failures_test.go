package controllers

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestAFailureIsToleratedUntilItHasLasted(t *testing.T) {
	g := NewWithT(t)
	f, x, began := &failures{}, types.NamespacedName{Name: "x"}, time.Unix(1000, 0)
	tolerated := func(object types.NamespacedName, err error, after time.Duration) bool {
		return f.tolerate(object, status.Classify(err), began.Add(after)).Tolerated
	}
	refused := errors.New("refused")
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {tolerance - 1, true}, {tolerance, false}, {time.Hour, false}} {
		g.Expect(tolerated(x, refused, step.after)).To(Equal(step.want), "after %v", step.after)
	}
	g.Expect(tolerated(types.NamespacedName{Name: "y"}, refused, time.Hour)).To(BeTrue(), "the failure of another object counts")
	f.end(x, status.Classify(refused))
	g.Expect(tolerated(x, refused, time.Hour)).To(BeFalse(), "a failed pass ends the series")
	g.Expect(tolerated(x, &children.InvalidSpecError{}, time.Hour)).To(BeFalse(), "what only an edit helps against is tolerated")
	f.end(x, nil)
	g.Expect(tolerated(x, refused, 2*time.Hour)).To(BeTrue(), "a pass that succeeded does not end the series")
}

// TestAConflictIsRetriedLessAndLessOften counts the passes of a conflict that lasts: 346 requests in 5 s were found once.
func TestAConflictIsRetriedLessAndLessOften(t *testing.T) {
	stale := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "x", errors.New("old"))
	f, passes := &failures{}, 0
	for after := time.Duration(0); ; passes++ {
		failure := f.tolerate(types.NamespacedName{}, status.Classify(stale), time.Unix(0, 0).Add(after))
		if !failure.Tolerated {
			break
		}
		after += failure.RetryAfter
	}
	if passes > 11 {
		t.Errorf("%d passes in %v", passes, tolerance)
	}
}

func TestARefusedEchoIsLookedAtAgainIfAnObjectIsNotWatched(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: *ownedService(storedEcho()).ObjectMeta.DeepCopy(), Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
	for label, want := range map[string]bool{"echo-operator": false, "Helm": true} {
		deployment.Labels = map[string]string{"app.kubernetes.io/managed-by": label}
		w := newWorld(t, storedEcho(func(e *v1.Echo) { e.Spec.Replicas = 21 }), deployment)
		answer, err := w.echoes().Reconcile(t.Context(), w.current(t))
		if looks := answer.RequeueAfter > 0; looks != want || (err == nil) != want {
			t.Errorf("with the label %s: %+v, %v", label, answer, err)
		}
	}
}
