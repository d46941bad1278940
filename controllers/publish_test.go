package controllers

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestAnEchoThatIsGoneIsRetriedQuietly(t *testing.T) {
	w := newWorld(t)
	gone := storedEcho(func(e *v1.Echo) { e.ResourceVersion, e.Spec.Paused = "1", true })
	if result, err := w.echoes().Reconcile(t.Context(), gone); err != nil || result.RequeueAfter != firstRetry || w.events() != nil {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestAStatusThatWasWrittenAlthoughTheAnswerWasAnErrorIsReported(t *testing.T) {
	w := newWorld(t, storedEcho())
	r := w.echoes()
	w.fail = func(string) error { return errors.New("no answer") }
	if err := r.publish(t.Context(), w.current(t), readyReport()); err == nil || w.events() != nil {
		t.Fatalf("got %v", err)
	}
	if got := r.unreported.published(storedEcho()); got != nil {
		t.Errorf("of another status it reports %v", got)
	}
	written := storedEcho(func(e *v1.Echo) { e.Status = readyReport().Status })
	for _, want := range [][]status.Transition{readyReport().Transitions, nil} {
		if diff := cmp.Diff(want, r.unreported.published(written)); diff != "" {
			t.Error(diff)
		}
	}
}
