package controllers

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

func readyReport() status.Report {
	return status.Report{
		Status:      v1.EchoStatus{Phase: v1.PhaseReady},
		Transitions: []status.Transition{{Reason: v1.EventReady, Action: "Reconcile", Note: "2 of 2 pods are ready."}},
	}
}

// current returns the Echo as the API server holds it.
func (w *world) current(t *testing.T) *v1.Echo {
	t.Helper()
	echo := &v1.Echo{}
	NewWithT(t).Expect(w.server.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, echo)).To(Succeed())
	return echo
}

func TestPublishWritesTheStatusAndThenReports(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho())
	g.Expect(w.echoes().publish(t.Context(), w.current(t), readyReport())).To(Succeed())
	g.Expect(w.current(t).Status.Phase).To(Equal(v1.PhaseReady))
	g.Expect(w.events()).To(HaveExactElements("Normal Ready 2 of 2 pods are ready."))
}

func TestPublishDoesNotWriteTheSameStatusAgain(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho(func(e *v1.Echo) { e.Status = readyReport().Status }))
	g.Expect(w.echoes().publish(t.Context(), w.current(t), status.Report{Status: readyReport().Status})).To(Succeed())
	g.Expect(w.writes).To(BeNil())
}

func TestNothingIsReportedUntilTheStatusIsWritten(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho())
	w.fail = func(string) error { return errors.New("no") }
	g.Expect(w.echoes().publish(t.Context(), w.current(t), readyReport())).To(HaveOccurred(), "the failure is hidden")
	g.Expect(w.events()).To(BeNil())
}

func TestAStatusOfAnOldEchoIsRejected(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho())
	old := w.current(t)
	old.ResourceVersion = "1"
	g.Expect(w.echoes().publish(t.Context(), old, readyReport())).To(Satisfy(apierrors.IsConflict))
	g.Expect(w.events()).To(BeNil())
}

func TestAnEchoThatIsGoneIsRetriedQuietly(t *testing.T) {
	w := newWorld(t)
	gone := storedEcho(func(e *v1.Echo) { e.ResourceVersion, e.Spec.Paused = "1", true })
	if result, err := w.echoes().Reconcile(t.Context(), gone); err != nil || result.RequeueAfter != firstRetry || w.events() != nil {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestAStatusThatWasWrittenAlthoughTheAnswerWasAnErrorIsReported(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho())
	r := w.echoes()
	w.fail = func(string) error { return errors.New("no answer") }
	g.Expect(r.publish(t.Context(), w.current(t), readyReport())).To(HaveOccurred())
	g.Expect(w.events()).To(BeNil())
	g.Expect(r.unreported.published(storedEcho())).To(BeNil())
	written := storedEcho(func(e *v1.Echo) { e.Status = readyReport().Status })
	for _, want := range [][]status.Transition{readyReport().Transitions, nil} {
		g.Expect(r.unreported.published(written)).To(BeComparableTo(want))
	}
}
