package controllers

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestAChangeIsKeptUntilItIsReported(t *testing.T) {
	g := NewWithT(t)
	u, x := &unreported{}, types.NamespacedName{Name: "x"}
	change := func(generation int64) []status.Change {
		return []status.Change{{After: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: generation}}}}
	}
	for i, step := range []struct {
		made []status.Change
		want int
	}{{change(1), 1}, {nil, 1}, {change(1), 1}, {change(2), 2}} {
		g.Expect(u.add(x, status.Observation{Changes: step.made})).To(HaveLen(step.want), "step %d", i)
	}
	u.done(x)
	g.Expect(u.add(x, status.Observation{Changes: change(2)})).To(BeNil(), "what was reported is reported again")
	g.Expect(u.add(x, status.Observation{Changes: change(3)})).To(HaveLen(1), "another change is not reported")
	other := u.add(types.NamespacedName{Name: "y"}, status.Observation{Changes: change(3)})
	g.Expect(other).To(HaveLen(1), "the change of another Echo is not reported")
	if end := u.gone(x); end != nil || len(u.of) != 1 {
		t.Errorf("it keeps %v", u.of)
	}
}

func TestAWriteThatWasDoneAlthoughTheAnswerWasAnErrorIsAChange(t *testing.T) {
	u, x := &unreported{}, types.NamespacedName{Name: "x"}
	before, after := &appsv1.Deployment{}, &appsv1.Deployment{}
	failed := func(err error) status.Observation {
		return status.Observation{Unsure: []status.Attempt{{Kind: "Deployment", Before: before, Err: err}}}
	}
	asWanted := func(kind string) status.Observation {
		return status.Observation{AsWanted: map[string]client.Object{kind: after}}
	}
	for i, step := range []struct {
		seen status.Observation
		want int
	}{
		{failed(apierrors.NewForbidden(schema.GroupResource{}, "x", nil)), 0},
		{asWanted("Deployment"), 0},
		{failed(apierrors.NewInternalError(errors.New("no"))), 0},
		{asWanted("Service"), 0},
		{asWanted("Deployment"), 1},
		{asWanted("Deployment"), 1},
	} {
		if got := u.add(x, step.seen); len(got) != step.want || step.want == 1 && (got[0].Before != before || got[0].After != after) {
			t.Errorf("step %d: got %v", i, got)
		}
	}
}

func TestTheEndOfAnEchoIsReportedAlthoughTheAnswerWasAnError(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, deletedEcho(v1.Finalizer))
	r, echo := w.echoes(), w.current(t)
	w.failOn("patch x", errors.New("no answer"))
	g.Expect(r.Reconcile(t.Context(), echo)).Error().To(HaveOccurred(), "the failure is hidden")
	w.events()
	r.Client = newWorld(t).server
	for _, want := range [][]any{{HavePrefix("Normal Deleted")}, nil} {
		g.Expect(r.ReconcileNamed(t.Context(), requestOf(echo))).Error().NotTo(HaveOccurred())
		g.Expect(w.events()).To(HaveExactElements(want...))
	}
}

func TestEventsOfChangesSurviveAStatusThatCannotBeWritten(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho())
	w.failOn("patch status", errors.New("no"))
	r := w.echoes()
	g.Expect(r.Reconcile(t.Context(), w.current(t))).Error().To(HaveOccurred())
	g.Expect(w.events()).To(BeNil())
	w.fail = func(string) error { return nil }
	g.Expect(r.Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.events()).To(ContainElement(HavePrefix("Normal Deployed")))
}
