package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	if got := w.events(); len(got) != 2 || !strings.HasPrefix(got[0], "Normal DeleteRequested") || !strings.HasPrefix(got[1], "Normal Deleted") {
		t.Errorf("it sent %q", got)
	}
}

func TestAFailedDeleteKeepsTheEcho(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	w := newWorld(t, echo, ownedService(echo))
	w.fail = func(string) error { return errors.New("no") }
	if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); err == nil || w.gone(t) {
		t.Errorf("got %v", err)
	}
}

func TestAStatusThatCannotBeWrittenDoesNotKeepTheEcho(t *testing.T) {
	w := newWorld(t, deletedEcho(v1.Finalizer))
	w.fail = func(name string) error {
		if name == "patch status" {
			return errors.New("no")
		}
		return nil
	}
	if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil || !w.gone(t) {
		t.Errorf("it wrote %v: %v", w.writes, err)
	}
}

func TestFinalizersOfOthersStay(t *testing.T) {
	w := newWorld(t, deletedEcho(v1.Finalizer, "example.org/theirs"))
	if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil {
		t.Fatal(err)
	}
	if got := w.current(t).Finalizers; !slices.Equal(got, []string{"example.org/theirs"}) {
		t.Errorf("the finalizers are %v", got)
	}
	w.writes = nil
	if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil || w.writes != nil {
		t.Errorf("an Echo that was released is written: %v, %v", w.writes, err)
	}
}

func TestOrphanedObjectsStay(t *testing.T) {
	echo := deletedEcho(v1.Finalizer, metav1.FinalizerOrphanDependents)
	w := newWorld(t, echo, ownedService(echo))
	if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil || !slices.Equal(w.writes, []string{"patch x"}) {
		t.Errorf("it wrote %v: %v", w.writes, err)
	}
	if got := w.events(); len(got) != 1 || !strings.Contains(got[0], "are kept") {
		t.Errorf("it sent %q", got)
	}
}

func TestThePodsOfAnOrphanedDeploymentDoNotKeepTheEcho(t *testing.T) {
	w := newWorld(t, deletedEcho(v1.Finalizer), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}})
	if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil || !w.gone(t) {
		t.Errorf("it wrote %v: %v", w.writes, err)
	}
	if got := w.events(); len(got) != 1 || !strings.Contains(got[0], "are kept") {
		t.Errorf("it sent %q", got)
	}
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
		if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil || w.gone(t) != c.released {
			t.Errorf("%s: it wrote %v: %v", name, w.writes, err)
		}
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
		if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := w.current(t).Status
		got = v1.EchoStatus{Replicas: got.Replicas, ReadyReplicas: got.ReadyReplicas, UpdatedReplicas: got.UpdatedReplicas, Companions: got.Companions, Pods: got.Pods}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDeletionIsCheckedLessAndLessOften(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		-time.Second: deletionPeriod, 0: deletionPeriod, 8 * time.Second: deletionPeriod, time.Minute: 15 * time.Second,
		2 * time.Minute: longestDeletionPeriod, time.Hour: longestDeletionPeriod,
	} {
		if got := nextDeletionCheck(elapsed); got != want {
			t.Errorf("after %s it waits %s, want %s", elapsed, got, want)
		}
	}
}
