package companion

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func reconciler(w *fakecluster.World) *Reconciler {
	return &Reconciler{Dependencies: w.Dependencies, Labeled: w.Labeled()}
}

var webRequest = ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "web-0"}}

func aNode() *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}} }

func TestReconciler_createsAndDeletesCompanion(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho(), fakecluster.OwnerPod(), aNode())
	g.Expect(reconciler(w).Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(HaveExactElements("apply Pod"))
	companion := fakecluster.CompanionPod(t)
	w = fakecluster.New(t, fakecluster.StoredEcho(), companion, aNode()) // its owner is gone
	g.Expect(reconciler(w).Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(HaveExactElements("delete " + companion.Name))
}

func TestPlanLive_findsCompanionMissingFromCache(t *testing.T) {
	cached := []client.Object{fakecluster.StoredEcho(), fakecluster.OwnerPod(), aNode()}
	w := fakecluster.NewLate(t, cached, append([]client.Object{fakecluster.CompanionPod(t)}, cached...))
	result, err := reconciler(w).Reconcile(t.Context(), webRequest)
	if err != nil || w.Writes != nil || result.RequeueAfter != controllers.DeletionPeriod {
		t.Errorf("the reconcile wrote %v, %+v, %v", w.Writes, result, err)
	}
}

func TestReconciler_keepsForeignPod(t *testing.T) {
	g := NewWithT(t)
	cached := []client.Object{fakecluster.StoredEcho(), fakecluster.OwnerPod(), aNode()}
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fakecluster.CompanionPod(t).Name}}
	w := fakecluster.NewLate(t, cached, append([]client.Object{foreign}, cached...))
	r := reconciler(w)
	for range 2 {
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
		g.Expect(w.Writes).To(BeNil())
	}
	g.Expect(w.Events()).To(HaveExactElements(HavePrefix("Warning CompanionNotCreated The Pod ")))
}

func TestReconciler_reportsAndRetriesFailedWrite(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho(), fakecluster.OwnerPod(), aNode())
	w.Fail = func(string) error { return errors.New("no") }
	r := reconciler(w)
	for range 2 {
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().To(HaveOccurred())
		g.Expect(w.Events()).To(BeNil())
	}
	r.Now = func() time.Time { return w.Dependencies.Now().Add(controllers.Tolerance) }
	g.Expect(r.Reconcile(t.Context(), webRequest)).Error().To(HaveOccurred(), "the failure is hidden from the work queue")
	g.Expect(w.Events()).To(HaveExactElements(HavePrefix("Warning CompanionNotCreated The Pod ")))
}

func TestReconciler_reportsMissingEcho(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.OwnerPod(), aNode())
	r := reconciler(w)
	for range 2 {
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	}
	said := And(HavePrefix(`Warning EchoNotFound Echo "x" does not exist`), ContainSubstring(v1.CompanionLabel))
	g.Expect(w.Events()).To(HaveExactElements(said))
}

func TestReconciler_stopsAtEachFailedRead(t *testing.T) {
	g := NewWithT(t)
	objects := []client.Object{fakecluster.StoredEcho(), fakecluster.OwnerPod(), aNode()}
	count := fakecluster.New(t, objects...)
	reconcile := count.FailRead(0)
	g.Expect(reconciler(count).Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(reconcile.Reads).To(HaveLen(5))
	for i, read := range reconcile.Reads {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			g := NewWithT(t)
			w := fakecluster.New(t, objects...)
			w.FailRead(i + 1)
			g.Expect(reconciler(w).Reconcile(t.Context(), webRequest)).Error().To(MatchError(fakecluster.ErrRefused))
			g.Expect(w.Writes).To(BeNil())
		})
	}
}
