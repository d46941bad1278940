package controllers

import (
	"errors"
	"slices"
	"testing"

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
	if err := w.server.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, echo); err != nil {
		t.Fatal(err)
	}
	return echo
}

func TestPublishWritesTheStatusAndThenReports(t *testing.T) {
	w := newWorld(t, storedEcho())
	if err := w.echoes().publish(t.Context(), w.current(t), readyReport()); err != nil {
		t.Fatal(err)
	}
	if got := w.current(t).Status.Phase; got != v1.PhaseReady {
		t.Errorf("the phase is %q", got)
	}
	if got := w.events(); !slices.Equal(got, []string{"Normal Ready 2 of 2 pods are ready."}) {
		t.Errorf("it sent %v", got)
	}
}

func TestPublishDoesNotWriteTheSameStatusAgain(t *testing.T) {
	w := newWorld(t, storedEcho(func(e *v1.Echo) { e.Status = readyReport().Status }))
	if err := w.echoes().publish(t.Context(), w.current(t), status.Report{Status: readyReport().Status}); err != nil || w.writes != nil {
		t.Errorf("it wrote %v: %v", w.writes, err)
	}
}

func TestNothingIsReportedUntilTheStatusIsWritten(t *testing.T) {
	w := newWorld(t, storedEcho())
	w.fail = func(string) error { return errors.New("no") }
	if err := w.echoes().publish(t.Context(), w.current(t), readyReport()); err == nil {
		t.Error("the failure is hidden")
	}
	if got := w.events(); got != nil {
		t.Errorf("it sent %v", got)
	}
}

func TestAStatusOfAnOldEchoIsRejected(t *testing.T) {
	w := newWorld(t, storedEcho())
	old := w.current(t)
	old.ResourceVersion = "1"
	if err := w.echoes().publish(t.Context(), old, readyReport()); !apierrors.IsConflict(err) || w.events() != nil {
		t.Errorf("got %v", err)
	}
}

func TestPublishAcceptsThatTheEchoIsGone(t *testing.T) {
	w := newWorld(t)
	if err := w.echoes().publish(t.Context(), storedEcho(func(e *v1.Echo) { e.ResourceVersion = "1" }), readyReport()); err != nil {
		t.Errorf("got %v", err)
	}
}
