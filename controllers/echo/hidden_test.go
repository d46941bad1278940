package echo

import (
	"testing"

	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func noBudget(e *v1.Echo) { e.Generation, e.Spec.DisruptionBudget.Enabled = 2, new(false) }

// observed makes the status of an Echo report that its spec was applied.
func observed(e *v1.Echo) {
	e.Status.ObservedGeneration = e.Generation
	e.Status.Conditions = []metav1.Condition{{Type: v1.ConditionDegraded, Status: metav1.ConditionFalse}}
}

func deleted(e *v1.Echo) { e.DeletionTimestamp = new(metav1.Now()) }

// hiddenBudget returns an Echo's PodDisruptionBudget with a changed label, so that the cache does not hold it.
func hiddenBudget(echo *v1.Echo) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{}
	budget.ObjectMeta = *fakecluster.OwnedService(echo).ObjectMeta.DeepCopy()
	budget.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	return budget
}

func TestReconciler_deletesHiddenChild(t *testing.T) {
	for name, changes := range map[string][]func(*v1.Echo){
		"no longer desired": {noBudget},
		"of a deleted Echo": {noBudget, observed, deleted},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			echo := fakecluster.StoredEcho(changes...)
			w := fakecluster.NewLate(t, []client.Object{echo}, []client.Object{echo, hiddenBudget(echo)})
			g.Expect(reconciler(w).reconcile(t.Context(), echo.DeepCopy())).Error().NotTo(HaveOccurred())
			g.Expect(w.Writes).To(ContainElement("delete x"))
		})
	}
}

func TestReconciler_mayBeHidden(t *testing.T) {
	const kind = "PodDisruptionBudget"
	budget := hiddenBudget(fakecluster.StoredEcho())
	for name, c := range map[string]struct {
		echo *v1.Echo
		// compared holds the PodDisruptionBudget found when the children were last compared, or is nil if they were never compared.
		compared []client.Object
		want     bool
	}{
		"a new Echo":                       {fakecluster.StoredEcho(), nil, false},
		"an edited spec":                   {fakecluster.StoredEcho(noBudget), nil, true},
		"an edited spec, there was one":    {fakecluster.StoredEcho(noBudget), []client.Object{budget}, true},
		"an edited spec, there was none":   {fakecluster.StoredEcho(noBudget), []client.Object{nil}, false},
		"an applied spec":                  {fakecluster.StoredEcho(noBudget, observed), nil, false},
		"an applied spec that is paused":   {fakecluster.StoredEcho(noBudget, observed, func(e *v1.Echo) { e.Spec.Paused = true }), nil, true},
		"a deleted Echo":                   {fakecluster.StoredEcho(noBudget, observed, deleted), nil, true},
		"a deleted Echo, there was none":   {fakecluster.StoredEcho(noBudget, observed, deleted), []client.Object{nil}, false},
		"another Echo of the same name":    {fakecluster.StoredEcho(noBudget, func(e *v1.Echo) { e.UID = "other" }), []client.Object{nil}, true},
		"a spec that could not be applied": {fakecluster.StoredEcho(noBudget, observed, degraded), nil, true},
		"a spec that no process has seen":  {fakecluster.StoredEcho(noBudget, observed, func(e *v1.Echo) { e.Generation++ }), nil, true},
	} {
		r := &Reconciler{}
		for _, found := range c.compared {
			r.memory.upToDate.Record(fakecluster.StoredEcho(), children.Config{}, foundOf(kind, found))
		}
		if got := r.mayBeHidden(c.echo, kind); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// foundOf returns the objects that a comparison found: the given object for one kind, and an arbitrary object for each other kind.
func foundOf(kind string, found client.Object) []client.Object {
	var all []client.Object
	for _, c := range desired.KindsOf(fakecluster.StoredEcho(), nil) {
		if c.Kind == kind {
			all = append(all, found)
		} else {
			all = append(all, hiddenBudget(fakecluster.StoredEcho()))
		}
	}
	return all
}

func degraded(e *v1.Echo) { e.Status.Conditions[0].Status = metav1.ConditionTrue }

// TestReconciler_forgetsComparisonBeforeCreate checks that a child that was created after the last comparison is not considered missing.
func TestReconciler_forgetsComparisonBeforeCreate(t *testing.T) {
	w := fakecluster.New(t, fakecluster.StoredEcho())
	r := reconciler(w)
	r.memory.upToDate.Record(fakecluster.StoredEcho(), children.Config{}, make([]client.Object, len(desired.Kinds())))
	w.Fail = func(write string) error {
		if r.memory.upToDate.Lacks(fakecluster.StoredEcho(), "Service") {
			t.Errorf("%s: the last comparison is not forgotten", write)
		}
		return nil
	}
	NewWithT(t).Expect(r.reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
}
