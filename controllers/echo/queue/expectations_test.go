package queue

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func version(v string) *v1.Echo {
	return fakecluster.StoredEcho(func(e *v1.Echo) { e.ResourceVersion = v })
}

// reconciles simulates the reconciles of one Echo.
type reconciles struct {
	*Expectations
	key       types.NamespacedName
	delivered int
}

func newReconciles() *reconciles {
	return &reconciles{Expectations: &Expectations{}, key: client.ObjectKeyFromObject(fakecluster.StoredEcho())}
}

// begins reports whether a reconcile may begin at a given second.
func (p *reconciles) begins(second int64) bool {
	return p.Begin(fakecluster.StoredEcho(), time.Unix(second, 0)) == 0
}

// arrive simulates the event for a version, and reports whether the event starts a reconcile immediately.
func (p *reconciles) arrive(v string) bool {
	before := p.delivered
	deliver := func() { p.delivered++ }
	if p.arrived(p.key, version(v), deliver) {
		deliver()
	}
	return p.delivered > before
}

// write records a write at second 0 that changes the Echo's version from before to after.
func (p *reconciles) write(before, after string) {
	p.Wrote(p.key, version(before), version(after), time.Unix(0, 0))
}

func TestExpectations_ownWritesStartNoReconcile(t *testing.T) {
	g := NewWithT(t)
	p := newReconciles()
	g.Expect(p.begins(0)).To(BeTrue(), "the first reconcile does not begin")
	p.write("1", "2")
	g.Expect(p.arrive("2")).To(BeFalse(), "an event during the reconcile")
	p.write("2", "4")
	p.write("4", "4") // nothing changed
	g.Expect(p.arrive("3")).To(BeFalse(), "a foreign event is not held during the reconcile")
	p.End(p.key)
	g.Expect(p.delivered).To(Equal(1))
	g.Expect(p.arrive("4")).To(BeFalse(), "an event after the reconcile")
	g.Expect(p.arrive("4")).To(BeTrue(), "the event of a resync is dropped")
	g.Expect(p.of).To(BeEmpty())
}

func TestExpectations_reconcileWaitsForCache(t *testing.T) {
	p := newReconciles()
	p.begins(0)
	p.write("1", "2")
	p.write("2", "3")
	p.End(p.key)
	for i, step := range []struct {
		event  string
		starts bool
		begins bool
	}{{"", false, false}, {"2", false, false}, {"3", true, true}} {
		if step.event != "" && p.arrive(step.event) != step.starts {
			t.Errorf("step %d: the event starts a reconcile: %v", i, !step.starts)
		}
		NewWithT(t).Expect(p.begins(1)).To(Equal(step.begins), "step %d", i)
	}
}

func TestExpectations_waitEnds(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(*reconciles)
		second  int64
		begins  bool
	}{
		"nothing":         {func(*reconciles) {}, 9, false},
		"the time":        {func(*reconciles) {}, 10, true},
		"a newer version": {func(p *reconciles) { p.arrive("10") }, 1, true},
		"an older one":    {func(p *reconciles) { p.arrive("1") }, 1, false},
		"the deletion":    {func(p *reconciles) { p.gone(p.key, version("2").UID) }, 1, true},
		"the end":         {func(p *reconciles) { p.Forget(p.key) }, 1, true},
	} {
		p := newReconciles()
		p.begins(0)
		p.write("1", "2")
		p.End(p.key)
		c.happens(p)
		NewWithT(t).Expect(p.begins(c.second)).To(Equal(c.begins), name)
	}
}

func TestExpectations_ignoresWritesForFormerEcho(t *testing.T) {
	p := newReconciles()
	p.begins(0)
	p.gone(p.key, version("2").UID) // the event arrives before the response to the write
	p.write("1", "2")
	p.End(p.key)
	if p.Begin(fakecluster.StoredEcho(func(e *v1.Echo) { e.UID = "other" }), time.Unix(1, 0)) > 0 {
		t.Error("the reconcile waits for the writes for an earlier Echo")
	}
}

func TestExpectations_clearKeepsHeldEvents(t *testing.T) {
	g := NewWithT(t)
	p := newReconciles()
	p.begins(0)
	p.write("1", "2")
	g.Expect(p.arrive("3")).To(BeFalse(), "a foreign event is not held during the reconcile")
	p.Clear()
	p.End(p.key)
	g.Expect(p.delivered).To(Equal(1))
	g.Expect(p.of).To(BeEmpty())
	g.Expect(p.begins(0)).To(BeTrue())
}

func TestExpectations_acceptsNonNumericVersions(t *testing.T) {
	g := NewWithT(t)
	p := newReconciles()
	p.begins(0)
	p.write("a", "c")
	p.End(p.key)
	g.Expect(p.arrive("b")).To(BeTrue(), "an unknown version is mistaken for an own version")
	g.Expect(p.begins(1)).To(BeFalse(), "an unknown version is mistaken for an own version")
	g.Expect(p.arrive("c")).To(BeTrue(), "the own version is not recognized")
	g.Expect(p.begins(1)).To(BeTrue(), "the own version is not recognized")
}

func TestWithout_dropsEventsOfOwnWrites(t *testing.T) {
	var events []string
	next := handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ workQueue) {
			events = append(events, "create "+e.Object.GetResourceVersion())
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ workQueue) {
			events = append(events, "update "+e.ObjectNew.GetResourceVersion())
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workQueue) {
			events = append(events, "delete "+e.Object.GetResourceVersion())
		},
	}
	d := func(version string, owners ...metav1.OwnerReference) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "d", ResourceVersion: version,
			OwnerReferences: owners}}
	}
	owner := *metav1.NewControllerRef(fakecluster.StoredEcho(), v1.GroupVersion.WithKind("Echo"))
	p := newReconciles()
	p.begins(0)
	p.Wrote(p.key, nil, d("1"), time.Unix(0, 0))
	p.Wrote(p.key, d("1"), d("3"), time.Unix(0, 0))
	p.End(p.key)
	h := p.Without(next, func(child client.Object) types.NamespacedName {
		if len(child.GetOwnerReferences()) == 0 {
			return types.NamespacedName{}
		}
		return p.key
	})
	h.Create(t.Context(), event.CreateEvent{Object: d("1", owner)}, nil)
	h.Update(t.Context(), event.UpdateEvent{ObjectOld: d("1", owner), ObjectNew: d("2")}, nil) // another client removed the owner reference
	h.Update(t.Context(), event.UpdateEvent{ObjectOld: d("2"), ObjectNew: d("3", owner)}, nil)
	h.Delete(t.Context(), event.DeleteEvent{Object: d("3", owner)}, nil)
	h.Create(t.Context(), event.CreateEvent{Object: d("4")}, nil)
	if want := []string{"update 2", "delete 3", "create 4"}; !slices.Equal(events, want) {
		t.Errorf("the events are %v, want %v", events, want)
	}
}
