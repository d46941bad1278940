package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func companionReconciler(w *World) *CompanionReconciler {
	return &CompanionReconciler{Dependencies: w.Dependencies, Labeled: w.Labeled()}
}

var webRequest = ctrl.Request{Namespace: "ns", Name: "web-0"}

func aNode() *corev1.Node { return &corev1.Node{Name: "n"} }

func TestCompanionReconciler_createsAndDeletesCompanion(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho(), OwnerPod(), aNode())
	g.Expect(companionReconciler(w).Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(HaveExactElements("apply Pod"))
	companion := CompanionPod(t)
	w = New(t, StoredEcho(), OwnerPod(), companion, aNode())
	g.Expect(companionReconciler(w).Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(BeEmpty())
	g.Expect(testutil.CollectAndCompare(w.Dependencies.Metrics.Companions, strings.NewReader(
		"# HELP echo_operator_companions Number of companions of all Echoes.\n# TYPE echo_operator_companions gauge\n"+
			"echo_operator_companions 1\n"), "echo_operator_companions")).To(Succeed())
	w = New(t, StoredEcho(), companion, aNode()) // its owner is gone
	g.Expect(companionReconciler(w).Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(HaveExactElements("delete " + companion.Name))
}

// conflict is the API server's response if a new companion already exists.
var conflict = apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-0-echo", errors.New("it exists"))

func TestCompanionReconciler_correctsCompanionMissingFromCache(t *testing.T) {
	unlabeled := CompanionPod(t)
	unlabeled.Labels = nil
	for name, c := range map[string]struct {
		live   []client.Object
		writes []string
		wait   time.Duration
	}{
		"not in the cache yet":    {[]client.Object{CompanionPod(t)}, []string{"apply Pod"}, deletionPeriod},
		"without its labels":      {[]client.Object{unlabeled}, []string{"apply Pod", "apply Pod"}, 0},
		"gone since the conflict": {nil, []string{"apply Pod"}, firstRetry},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cached := []client.Object{StoredEcho(), OwnerPod(), aNode()}
			w := NewLate(t, cached, append(c.live, cached...))
			w.Fail = func(string) error {
				if len(w.Writes) > 1 {
					return nil
				}
				return conflict
			}
			result, err := companionReconciler(w).Reconcile(t.Context(), webRequest)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(w.Writes).To(HaveExactElements(c.writes))
			g.Expect(result.RequeueAfter).To(Equal(c.wait))
		})
	}
}

func TestCompanionReconciler_keepsForeignPod(t *testing.T) {
	g := NewWithT(t)
	cached := []client.Object{StoredEcho(), OwnerPod(), aNode()}
	foreign := &corev1.Pod{Namespace: "ns", Name: CompanionPod(t).Name}
	w := NewLate(t, cached, append([]client.Object{foreign}, cached...))
	w.Fail = func(string) error { return conflict }
	r := companionReconciler(w)
	for range 2 {
		w.Writes = nil
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
		g.Expect(w.Writes).To(HaveExactElements("apply Pod"), "only the apply that the API server refuses")
	}
	note := HavePrefix("Warning CompanionNotCreated The Pod ")
	g.Expect(w.Events()).To(HaveExactElements(note, note), "about the pod, and about the Echo")
}

func TestCompanionReconciler_reportsAndRetriesFailedWrite(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho(), OwnerPod(), aNode())
	w.Fail = func(string) error { return errors.New("no") }
	r := companionReconciler(w)
	for range 2 {
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().To(HaveOccurred())
		g.Expect(w.Events()).To(BeNil())
	}
	r.Now = func() time.Time { return w.Dependencies.Now().Add(Tolerance) }
	g.Expect(r.Reconcile(t.Context(), webRequest)).Error().To(HaveOccurred(), "the failure is hidden from the work queue")
	g.Expect(w.Events()).To(ContainElement(HavePrefix("Warning CompanionNotCreated The Pod ")))
}

func TestCompanionReconciler_reportsMissingEcho(t *testing.T) {
	g := NewWithT(t)
	w := New(t, OwnerPod(), aNode())
	r := companionReconciler(w)
	for range 2 {
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	}
	said := And(HavePrefix(`Warning EchoNotFound Echo "x" does not exist`), ContainSubstring(v1.CompanionLabel))
	g.Expect(w.Events()).To(HaveExactElements(said))
}

func TestCompanionReconciler_stopsAtEachFailedRead(t *testing.T) {
	g := NewWithT(t)
	objects := []client.Object{StoredEcho(), OwnerPod(), aNode()}
	count := New(t, objects...)
	reconcile := count.FailRead(0)
	g.Expect(companionReconciler(count).Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(*reconcile).To(HaveLen(4))
	for i, read := range *reconcile {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			g := NewWithT(t)
			w := New(t, objects...)
			w.FailRead(i + 1)
			g.Expect(companionReconciler(w).Reconcile(t.Context(), webRequest)).Error().To(MatchError(ErrRefused))
			g.Expect(w.Writes).To(BeNil())
		})
	}
}

func TestCompanionReconciler_retriesDeletionOfReplacedCompanion(t *testing.T) {
	w := New(t, CompanionPod(t)) // its owner is gone
	w.Fail = func(string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, CompanionPod(t).Name, nil) // another UID
	}
	r := companionReconciler(w)
	for range 2 {
		if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter == 0 {
			t.Errorf("the reconcile returned %+v, %v", result, err)
		}
	}
	w.Fail = func(string) error { return nil }
	if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter != 0 || len(w.Writes) != 3 {
		t.Errorf("the reconcile wrote %v: %+v, %v", w.Writes, result, err)
	}
}
