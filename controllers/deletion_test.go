package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

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
	if got := w.events(); len(got) != 2 || !strings.Contains(got[1], "are kept") {
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

func TestPodsThatAreLeftKeepTheEcho(t *testing.T) {
	echo, pod := deletedEcho(v1.Finalizer), echoPod()
	for name, cached := range map[string][]client.Object{"cached": {echo, pod}, "not in the cache": {echo}} {
		w := newLateWorld(t, cached, []client.Object{echo, pod})
		if result, err := w.echoes().Reconcile(t.Context(), w.current(t)); err != nil || result.RequeueAfter != deletionPeriod || w.gone(t) {
			t.Errorf("%s: it wrote %v, %+v, %v", name, w.writes, result, err)
		}
	}
}
