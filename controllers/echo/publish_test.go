package echo

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func readyReport() status.Report {
	return status.Report{
		Status:      v1.EchoStatus{Phase: v1.PhaseReady, Pods: map[string][]string{}},
		Transitions: []status.Transition{{Reason: v1.EventReady, Action: "Reconcile", Note: "2 of 2 pods are ready."}},
	}
}

func TestPublish_writesStatusThenReports(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	g.Expect(reconciler(w).publish(t.Context(), w.Current(t), readyReport())).To(Succeed())
	g.Expect(w.Current(t).Status.Phase).To(Equal(v1.PhaseReady))
	g.Expect(w.Events()).To(HaveExactElements("Normal Ready 2 of 2 pods are ready."))
}

func TestPublish_skipsUnchangedStatus(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho(func(e *v1.Echo) { e.Status = readyReport().Status }))
	g.Expect(reconciler(w).publish(t.Context(), w.Current(t), status.Report{Status: readyReport().Status})).To(Succeed())
	g.Expect(w.Writes).To(BeNil())
}

func TestPublish_reportsOnlyAfterStatusWrite(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	w.Fail = func(string) error { return errors.New("no") }
	g.Expect(reconciler(w).publish(t.Context(), w.Current(t), readyReport())).To(HaveOccurred(), "the failure is hidden")
	g.Expect(w.Events()).To(BeNil())
}

func TestPublish_rejectsOutdatedEcho(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	old := w.Current(t)
	old.ResourceVersion = "1"
	g.Expect(reconciler(w).publish(t.Context(), old, readyReport())).To(Satisfy(apierrors.IsConflict))
	g.Expect(w.Events()).To(BeNil())
}

func TestReconcile_retriesMissingEchoQuietly(t *testing.T) {
	w := fakecluster.New(t)
	gone := fakecluster.StoredEcho(func(e *v1.Echo) { e.ResourceVersion, e.Spec.Paused = "1", true })
	if result, err := reconciler(w).reconcile(t.Context(), gone); err != nil || result.RequeueAfter != controllers.FirstRetry ||
		w.Events() != nil {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestPublished_reportsStatusWrittenDespiteError(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	r := reconciler(w)
	w.Fail = func(string) error { return errors.New("no response") }
	g.Expect(r.publish(t.Context(), w.Current(t), readyReport())).To(HaveOccurred())
	g.Expect(w.Events()).To(BeNil())
	g.Expect(r.memory.pending.published(fakecluster.StoredEcho())).To(BeNil())
	written := fakecluster.StoredEcho(func(e *v1.Echo) { e.Status = readyReport().Status })
	for _, want := range [][]status.Transition{readyReport().Transitions, nil} {
		g.Expect(r.memory.pending.published(written)).To(BeComparableTo(want))
	}
}
