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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func deletedEcho(finalizers ...string) *v1.Echo {
	return StoredEcho(func(e *v1.Echo) {
		now := metav1.Now()
		e.DeletionTimestamp, e.Finalizers = &now, finalizers
	})
}

// gone reports whether the API server no longer has the Echo.
func gone(t *testing.T, w *World) bool {
	t.Helper()
	return apierrors.IsNotFound(w.Server.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, &v1.Echo{}))
}

func TestReconcileDelete_releasesEchoAfterItsObjects(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	w := New(t, echo, OwnedService(echo))
	result, err := echoReconciler(w).reconcile(t.Context(), w.Current(t))
	if err != nil || result.RequeueAfter != deletionPeriod || !slices.Equal(w.Writes, []string{"delete x", "patch status"}) {
		t.Errorf("the first reconcile wrote %v, %+v, %v", w.Writes, result, err)
	}
	if result, err = echoReconciler(w).reconcile(t.Context(), w.Current(t)); err != nil || result.RequeueAfter != 0 || !gone(t, w) {
		t.Errorf("the second reconcile wrote %v, %+v, %v", w.Writes, result, err)
	}
	NewWithT(t).Expect(w.Events()).To(HaveExactElements(HavePrefix("Normal DeleteRequested")))
}

func TestReconcileDelete_releasesEchoDespiteFailedStatus(t *testing.T) {
	g := NewWithT(t)
	w := New(t, deletedEcho(v1.Finalizer))
	w.FailOn("patch status", errors.New("no"))
	g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(gone(t, w)).To(BeTrue())
}

func TestRelease_keepsForeignFinalizers(t *testing.T) {
	g := NewWithT(t)
	w := New(t, deletedEcho(v1.Finalizer, "example.org/theirs"))
	g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.Current(t).Finalizers).To(HaveExactElements("example.org/theirs"))
	w.Writes = nil
	g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(BeNil())
}

func TestReconcileDelete_keepsOrphanedObjects(t *testing.T) {
	g := NewWithT(t)
	echo := deletedEcho(v1.Finalizer, metav1.FinalizerOrphanDependents)
	w := New(t, echo, OwnedService(echo))
	g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(HaveExactElements("patch x"))
	g.Expect(w.Events()).To(BeNil())
}

func TestReconcileDelete_ignoresOrphanedDeployment(t *testing.T) {
	g := NewWithT(t)
	w := New(t, deletedEcho(v1.Finalizer), &appsv1.Deployment{Namespace: "ns", Name: "x"}, EchoPod())
	g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(gone(t, w)).To(BeTrue())
	g.Expect(w.Events()).To(BeNil())
}

func TestReconcileDelete_deletesCompanionMissingFromCache(t *testing.T) {
	echo, companion := deletedEcho(v1.Finalizer), CompanionPod(t)
	w := NewLate(t, []client.Object{echo}, []client.Object{echo, companion})
	result, err := echoReconciler(w).reconcile(t.Context(), w.Current(t))
	if err != nil || result.RequeueAfter != deletionPeriod || !slices.Contains(w.Writes, "delete "+companion.Name) || gone(t, w) {
		t.Errorf("the reconcile wrote %v, %+v, %v", w.Writes, result, err)
	}
}

func TestLeftoversOf_omitsKeptPodsAfterDelay(t *testing.T) {
	g := NewWithT(t)
	deletedAgo := func(age time.Duration) *v1.Echo {
		echo := deletedEcho(v1.Finalizer)
		echo.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0).Add(-age)}
		return echo
	}
	draining := EchoPod()
	draining.Name, draining.DeletionTimestamp, draining.Finalizers = "x-2", new(metav1.Now()), []string{"example.org/theirs"}
	for name, c := range map[string]struct {
		age      time.Duration
		others   []client.Object
		released bool
	}{
		"at first":        {orphanedAfter, nil, false},
		"after a minute":  {orphanedAfter + time.Second, nil, true},
		"one that drains": {time.Hour, []client.Object{draining}, false},
		"an object":       {time.Hour, []client.Object{OwnedService(StoredEcho())}, false},
		"a companion":     {time.Hour, []client.Object{CompanionPod(t)}, false},
	} {
		w := New(t, append(c.others, deletedAgo(c.age), EchoPod())...)
		g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred(), name)
		g.Expect(gone(t, w)).To(Equal(c.released), name)
	}
}

func TestReconcileDelete_reportsDrainingPods(t *testing.T) {
	g := NewWithT(t)
	draining, companion := EchoPod(), CompanionPod(t)
	draining.DeletionTimestamp, draining.Finalizers = new(metav1.Now()), []string{"example.org/theirs"}
	for name, c := range map[string]struct {
		left []client.Object
		want v1.EchoStatus
	}{
		"one that drains": {[]client.Object{draining}, v1.EchoStatus{Pods: map[string][]string{"Terminating": {"x-1"}}}},
		"a companion":     {[]client.Object{companion}, v1.EchoStatus{Pods: map[string][]string{}}},
	} {
		echo := deletedEcho(v1.Finalizer)
		echo.Status = v1.EchoStatus{Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2,
			Pods: map[string][]string{"Ready": {"x-1", "x-2"}}}
		w := New(t, append(c.left, echo)...)
		g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred(), name)
		got := w.Current(t).Status
		got = v1.EchoStatus{Replicas: got.Replicas, ReadyReplicas: got.ReadyReplicas, UpdatedReplicas: got.UpdatedReplicas,
			Pods: got.Pods}
		g.Expect(got).To(BeComparableTo(c.want, cmpopts.EquateEmpty()), name)
	}
}

// TestReconcileDelete_namesHeldObject checks Echoes whose Service another controller keeps with a finalizer.
func TestReconcileDelete_namesHeldObject(t *testing.T) {
	g := NewWithT(t)
	companion := CompanionPod(t)
	companion.DeletionTimestamp, companion.Finalizers = new(metav1.Now()), []string{"example.org/theirs"}
	const foreign, draining = "example.org/theirs", "The Echo is being deleted. Its pods are draining connections."
	for name, c := range map[string]struct {
		age       time.Duration
		finalizer string
		others    []client.Object
		message   string
	}{
		"at first":              {30 * time.Second, foreign, nil, draining},
		"with a companion":      {time.Hour, foreign, []client.Object{companion}, draining},
		"the garbage collector": {time.Hour, metav1.FinalizerDeleteDependents, nil, draining},
		"another controller":    {time.Hour, foreign, nil, "The Service x is being deleted, but still has the finalizer example.org/theirs."},
	} {
		echo := deletedEcho(v1.Finalizer)
		echo.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0).Add(-c.age)}
		service := OwnedService(echo)
		service.DeletionTimestamp, service.Finalizers = echo.DeletionTimestamp, []string{metav1.FinalizerDeleteDependents, c.finalizer}
		w := New(t, append(c.others, echo, service)...)
		g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred(), name)
		status := w.Current(t).Status
		g.Expect(status.Message).To(HavePrefix(c.message), name)
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, v1.ConditionDegraded)).To(Equal(strings.HasPrefix(c.message, "The Service")), name)
	}
}

func TestNextDeletionCheck(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		-time.Second: deletionPeriod, 0: deletionPeriod, 8 * time.Second: deletionPeriod,
		time.Minute:     15 * time.Second,
		2 * time.Minute: longestDeletionPeriod, time.Hour: longestDeletionPeriod,
	} {
		NewWithT(t).Expect(nextDeletionCheck(elapsed)).To(Equal(want), "after %s", elapsed)
	}
}
