package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func deletedEcho(finalizers ...string) *v1.Echo {
	return storedEcho(func(e *v1.Echo) {
		now := metav1.Now()
		e.DeletionTimestamp, e.Finalizers = &now, finalizers
	})
}

// gone reports whether the API server has forgotten the Echo.
func (w *world) gone(t *testing.T) bool {
	t.Helper()
	return apierrors.IsNotFound(w.server.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, &v1.Echo{}))
}

func TestAnEchoIsReleasedOnlyWhenItsObjectsAreGone(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	w := newWorld(t, echo, ownedService(echo))
	result, err := w.echoes().Reconcile(t.Context(), w.current(t))
	if err != nil || result.RequeueAfter != deletionPeriod || !slices.Equal(w.writes, []string{"delete x", "patch status"}) {
		t.Errorf("at first it wrote %v, %+v, %v", w.writes, result, err)
	}
	if result, err = w.echoes().Reconcile(t.Context(), w.current(t)); err != nil || result.RequeueAfter != 0 || !w.gone(t) {
		t.Errorf("then it wrote %v, %+v, %v", w.writes, result, err)
	}
	NewWithT(t).Expect(w.events()).To(HaveExactElements(HavePrefix("Normal DeleteRequested"), HavePrefix("Normal Deleted")))
}

func TestAFailedDeleteKeepsTheEcho(t *testing.T) {
	g := NewWithT(t)
	echo := deletedEcho(v1.Finalizer)
	w := newWorld(t, echo, ownedService(echo))
	w.fail = func(string) error { return errors.New("no") }
	g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().To(HaveOccurred())
	g.Expect(w.gone(t)).To(BeFalse())
}

func TestAStatusThatCannotBeWrittenDoesNotKeepTheEcho(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, deletedEcho(v1.Finalizer))
	w.failOn("patch status", errors.New("no"))
	g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.gone(t)).To(BeTrue())
}

func TestFinalizersOfOthersStay(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, deletedEcho(v1.Finalizer, "example.org/theirs"))
	g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.current(t).Finalizers).To(HaveExactElements("example.org/theirs"))
	w.writes = nil
	g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.writes).To(BeNil())
}

func TestOrphanedObjectsStay(t *testing.T) {
	g := NewWithT(t)
	echo := deletedEcho(v1.Finalizer, metav1.FinalizerOrphanDependents)
	w := newWorld(t, echo, ownedService(echo))
	g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.writes).To(HaveExactElements("patch x"))
	g.Expect(w.events()).To(HaveExactElements(ContainSubstring("are kept")))
}

func TestThePodsOfAnOrphanedDeploymentDoNotKeepTheEcho(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, deletedEcho(v1.Finalizer), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}})
	g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.gone(t)).To(BeTrue())
	g.Expect(w.events()).To(HaveExactElements(ContainSubstring("are kept")))
}

func TestCompanionsThatTheCacheDoesNotHoldAreDeleted(t *testing.T) {
	echo, companion := deletedEcho(v1.Finalizer), companionPod(t)
	w := newLateWorld(t, []client.Object{echo}, []client.Object{echo, companion})
	result, err := w.echoes().Reconcile(t.Context(), w.current(t))
	if err != nil || result.RequeueAfter != deletionPeriod || !slices.Contains(w.writes, "delete "+companion.Name) || w.gone(t) {
		t.Errorf("it wrote %v, %+v, %v", w.writes, result, err)
	}
}

func TestPodsThatNobodyDeletesAreLeft(t *testing.T) {
	g := NewWithT(t)
	deletedAgo := func(age time.Duration) *v1.Echo {
		echo := deletedEcho(v1.Finalizer)
		echo.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0).Add(-age)}
		return echo
	}
	draining := echoPod()
	draining.Name, draining.DeletionTimestamp, draining.Finalizers = "x-2", new(metav1.Now()), []string{"example.org/theirs"}
	for name, c := range map[string]struct {
		age      time.Duration
		others   []client.Object
		released bool
	}{
		"at first":        {orphanedAfter, nil, false},
		"after a minute":  {orphanedAfter + time.Second, nil, true},
		"one that drains": {time.Hour, []client.Object{draining}, false},
		"an object":       {time.Hour, []client.Object{ownedService(storedEcho())}, false},
		"a companion":     {time.Hour, []client.Object{companionPod(t)}, false},
	} {
		w := newWorld(t, append(c.others, deletedAgo(c.age), echoPod())...)
		g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred(), name)
		g.Expect(w.gone(t)).To(Equal(c.released), name)
		if got := w.events(); c.released != slices.ContainsFunc(got, func(event string) bool { return strings.Contains(event, "are kept") }) {
			t.Errorf("%s: it sent %q", name, got)
		}
	}
}

func TestPodsThatAreLeftKeepTheEcho(t *testing.T) {
	echo, pod := deletedEcho(v1.Finalizer), echoPod()
	for name, cached := range map[string][]client.Object{"cached": {echo, pod}, "not in the cache": {echo}} {
		w := newLateWorld(t, cached, []client.Object{echo, pod})
		if result, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil || result.RequeueAfter != deletionPeriod || w.gone(t) {
			t.Errorf("%s: it wrote %v, %+v, %v", name, w.writes, result, err)
		}
	}
}

func TestTheStatusTellsWhichPodsDrain(t *testing.T) {
	g := NewWithT(t)
	draining, companion := echoPod(), companionPod(t)
	draining.DeletionTimestamp, draining.Finalizers = new(metav1.Now()), []string{"example.org/theirs"}
	for name, c := range map[string]struct {
		left []client.Object
		want v1.EchoStatus
	}{
		"one that drains": {[]client.Object{draining}, v1.EchoStatus{Pods: map[string][]string{"Terminating": {"x-1"}}}},
		"a companion":     {[]client.Object{companion}, v1.EchoStatus{Pods: map[string][]string{}, Companions: 1}},
	} {
		echo := deletedEcho(v1.Finalizer)
		echo.Status = v1.EchoStatus{Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, Companions: 2, Pods: map[string][]string{"Ready": {"x-1", "x-2"}}}
		w := newWorld(t, append(c.left, echo)...)
		g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred(), name)
		got := w.current(t).Status
		got = v1.EchoStatus{Replicas: got.Replicas, ReadyReplicas: got.ReadyReplicas, UpdatedReplicas: got.UpdatedReplicas, Companions: got.Companions, Pods: got.Pods}
		g.Expect(got).To(BeComparableTo(c.want, cmpopts.EquateEmpty()), name)
	}
}

func TestDeletionIsCheckedLessAndLessOften(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		-time.Second: deletionPeriod, 0: deletionPeriod, 8 * time.Second: deletionPeriod, time.Minute: 15 * time.Second,
		2 * time.Minute: longestDeletionPeriod, time.Hour: longestDeletionPeriod,
	} {
		NewWithT(t).Expect(nextDeletionCheck(elapsed)).To(Equal(want), "after %s", elapsed)
	}
}
