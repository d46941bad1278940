package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
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
	g := NewWithT(t)
	w := newWorld(t, storedEcho(), ownerPod(), aNode())
	g.Expect(w.companions().Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(w.writes).To(HaveExactElements("apply Pod"))
	companion := companionPod(t)
	w = newWorld(t, storedEcho(), companion, aNode()) // its owner is gone
	g.Expect(w.companions().Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(w.writes).To(HaveExactElements("delete " + companion.Name))
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
	g := NewWithT(t)
	cached := []client.Object{storedEcho(), ownerPod(), aNode()}
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: companionPod(t).Name}}
	w := newLateWorld(t, cached, append([]client.Object{foreign}, cached...))
	r := w.companions()
	for range 2 {
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
		g.Expect(w.writes).To(BeNil())
	}
	g.Expect(w.events()).To(HaveExactElements(HavePrefix("Warning CompanionRefused Pod")))
}

func TestAFailedWriteIsReportedToTheOwnerAndRetried(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho(), ownerPod(), aNode())
	w.fail = func(string) error { return errors.New("no") }
	r := w.companions()
	for range 2 {
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().To(HaveOccurred())
		g.Expect(w.events()).To(BeNil())
	}
	r.Now = func() time.Time { return w.dependencies.Now().Add(tolerance) }
	g.Expect(r.Reconcile(t.Context(), webRequest)).Error().To(HaveOccurred(), "the failure is hidden from the work queue")
	g.Expect(w.events()).To(HaveExactElements(HavePrefix("Warning CompanionRefused applying Pod")))
}

func TestAMissingEchoIsReportedToTheOwner(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, ownerPod(), aNode())
	r := w.companions()
	for range 2 {
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	}
	said := And(HavePrefix(`Warning EchoNotFound There is no Echo "x"`), ContainSubstring(v1.CompanionLabel))
	g.Expect(w.events()).To(HaveExactElements(said))
}

func TestDeleteCompanionIgnoresOneThatIsBeingDeletedOrGone(t *testing.T) {
	g := NewWithT(t)
	w, companion := newWorld(t), companionPod(t)
	g.Expect(deleteCompanion(t.Context(), w.server, companion)).To(Succeed(), "gone")
	w.writes, companion.DeletionTimestamp = nil, &metav1.Time{Time: w.dependencies.Now()}
	g.Expect(deleteCompanion(t.Context(), w.server, companion)).To(Succeed())
	g.Expect(w.writes).To(BeNil())
}
