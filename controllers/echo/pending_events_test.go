package echo

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestPendingEvents_keepsChangeUntilReported(t *testing.T) {
	g := NewWithT(t)
	u, x := &pendingEvents{}, types.NamespacedName{Name: "x"}
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
	g.Expect(u.add(x, status.Observation{Changes: change(2)})).To(BeNil(), "a reported change is reported again")
	g.Expect(u.add(x, status.Observation{Changes: change(3)})).To(HaveLen(1), "another change is not reported")
	other := u.add(types.NamespacedName{Name: "y"}, status.Observation{Changes: change(3)})
	g.Expect(other).To(HaveLen(1), "the change of another Echo is not reported")
}

func TestPendingEvents_forgetsRecreatedObjects(t *testing.T) {
	u, x := &pendingEvents{}, types.NamespacedName{Name: "x"}
	for _, uid := range []types.UID{"a", "b"} {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: 1}}
		NewWithT(t).Expect(u.add(x, status.Observation{Changes: []status.Change{{After: budget}}})).To(HaveLen(1))
		u.done(x)
	}
	NewWithT(t).Expect(u.news(x).versions).To(HaveLen(1))
}

func TestPendingEvents_detectsSuccessOfAmbiguousWrite(t *testing.T) {
	u, x := &pendingEvents{}, types.NamespacedName{Name: "x"}
	before, after := &appsv1.Deployment{}, &appsv1.Deployment{}
	failed := func(err error) status.Observation {
		return status.Observation{AmbiguousWrites: []status.Attempt{{Kind: "Deployment", Before: before, Err: err}}}
	}
	asWanted := func(kind string) status.Observation {
		return status.Observation{Unchanged: map[string]client.Object{kind: after}}
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

func TestPendingEvents_surviveFailedStatusWrite(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	w.FailOn("patch status", errors.New("no"))
	r := reconciler(w)
	g.Expect(r.reconcile(t.Context(), w.Current(t))).Error().To(HaveOccurred())
	g.Expect(w.Events()).To(BeNil())
	w.Fail = func(string) error { return nil }
	g.Expect(r.reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.Events()).To(ContainElement(HavePrefix("Normal Deployed")))
}
