package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// readerCache is a cache that is filled, and of which only reading works.
type readerCache struct {
	cache.Cache
	reader client.Reader
}

// Get implements client.Reader.
func (c readerCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (c readerCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.reader.List(ctx, list, options...)
}

func (w *world) companions() *CompanionReconciler {
	return &CompanionReconciler{Dependencies: w.dependencies, Labelled: readerCache{reader: w.cache}}
}

var webRequest = ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "web-0"}}

func aNode() *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}} }

func TestACompanionIsCreatedAndDeleted(t *testing.T) {
	w := newWorld(t, storedEcho(), ownerPod(), aNode())
	if _, err := w.companions().Reconcile(t.Context(), webRequest); err != nil || !slices.Equal(w.writes, []string{"apply Pod"}) {
		t.Errorf("it wrote %v: %v", w.writes, err)
	}
	companion := companionPod(t)
	w = newWorld(t, storedEcho(), companion, aNode()) // its owner is gone
	if _, err := w.companions().Reconcile(t.Context(), webRequest); err != nil || !slices.Equal(w.writes, []string{"delete " + companion.Name}) {
		t.Errorf("without the owner it wrote %v: %v", w.writes, err)
	}
}

func TestACompanionThatTheCacheDoesNotHoldIsNotCreatedAgain(t *testing.T) {
	cached := []client.Object{storedEcho(), ownerPod(), aNode()}
	w := newLateWorld(t, cached, append([]client.Object{companionPod(t)}, cached...))
	result, err := w.companions().Reconcile(t.Context(), webRequest)
	if err != nil || w.writes != nil || result.RequeueAfter != deletionPeriod {
		t.Errorf("it wrote %v, %+v, %v", w.writes, result, err)
	}
}

func TestAForeignPodWithTheNameOfACompanionIsNotChanged(t *testing.T) {
	cached := []client.Object{storedEcho(), ownerPod(), aNode()}
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: companionPod(t).Name}}
	w := newLateWorld(t, cached, append([]client.Object{foreign}, cached...))
	r := w.companions()
	for range 2 {
		if _, err := r.Reconcile(t.Context(), webRequest); err != nil || w.writes != nil {
			t.Errorf("it wrote %v: %v", w.writes, err)
		}
	}
	if got := w.events(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning CompanionRefused Pod") {
		t.Errorf("two passes sent %q", got)
	}
}

func TestAFailedWriteIsReportedToTheOwnerAndRetried(t *testing.T) {
	w := newWorld(t, storedEcho(), ownerPod(), aNode())
	w.fail = func(string) error { return errors.New("no") }
	r := w.companions()
	for range 2 {
		if _, err := r.Reconcile(t.Context(), webRequest); err == nil || w.events() != nil {
			t.Errorf("a new failure: %v", err)
		}
	}
	r.Now = func() time.Time { return w.dependencies.Now().Add(tolerance) }
	if _, err := r.Reconcile(t.Context(), webRequest); err == nil {
		t.Error("the failure is hidden from the work queue")
	}
	if got := w.events(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning CompanionRefused applying Pod") {
		t.Errorf("it sent %q", got)
	}
}

func TestAMissingEchoIsReportedToTheOwner(t *testing.T) {
	w := newWorld(t, ownerPod(), aNode())
	r := w.companions()
	for range 2 {
		if _, err := r.Reconcile(t.Context(), webRequest); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.events(); len(got) != 1 || !strings.HasPrefix(got[0], `Warning EchoNotFound There is no Echo "x"`) || !strings.Contains(got[0], v1.CompanionLabel) {
		t.Errorf("two passes sent %q", got)
	}
}

func TestDeleteCompanionIgnoresOneThatIsBeingDeletedOrGone(t *testing.T) {
	w, companion := newWorld(t), companionPod(t)
	if err := deleteCompanion(t.Context(), w.server, companion); err != nil {
		t.Errorf("gone: %v", err)
	}
	w.writes, companion.DeletionTimestamp = nil, &metav1.Time{Time: w.dependencies.Now()}
	if err := deleteCompanion(t.Context(), w.server, companion); err != nil || w.writes != nil {
		t.Errorf("being deleted: it wrote %v: %v", w.writes, err)
	}
}
