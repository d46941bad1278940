package controllers

import (
	"context"
	"errors"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

func TestNothingIsWrittenForAnEchoThatIsRefusedOrPaused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*v1.Echo)
		refused bool
	}{
		"refused": {func(e *v1.Echo) { e.Spec.Replicas = 21 }, true},
		"paused":  {func(e *v1.Echo) { e.Spec.Paused = true }, false},
	} {
		w := newWorld(t, storedEcho(c.change))
		_, err := w.echoes().converge(t.Context(), w.current(t))
		if w.writes != nil || c.refused != errors.As(err, new(*children.InvalidSpecError)) {
			t.Errorf("%s: it wrote %v: %v", name, w.writes, err)
		}
	}
}

func TestTheFinalizerIsWrittenBeforeAnythingIsCreated(t *testing.T) {
	w := newWorld(t, storedEcho(func(e *v1.Echo) { e.Finalizers = nil }))
	if _, err := w.echoes().converge(t.Context(), w.current(t)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"patch x", "apply Service", "apply Deployment", "apply PodDisruptionBudget"}; !slices.Equal(w.writes, want) {
		t.Errorf("it wrote %v", w.writes)
	}
}

func TestAFailedWriteEndsThePass(t *testing.T) {
	for write, want := range map[string][]string{
		"patch x":          {"patch x"},
		"apply Service":    {"patch x", "apply Service"},
		"apply Deployment": {"patch x", "apply Service", "apply Deployment"},
	} {
		w := newWorld(t, storedEcho(func(e *v1.Echo) { e.Finalizers = nil }))
		w.fail = func(name string) error {
			if name == write {
				return errors.New("no")
			}
			return nil
		}
		if _, err := w.echoes().converge(t.Context(), w.current(t)); err == nil || !slices.Equal(w.writes, want) {
			t.Errorf("after %s: it wrote %v: %v", write, w.writes, err)
		}
	}
}

func TestAFailedReadIsReportedBeforeAnythingIsWritten(t *testing.T) {
	w := newWorld(t, storedEcho())
	echo := w.current(t)
	r := w.echoes()
	r.Client = interceptor.NewClient(w.server, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no")
		}})
	if _, err := r.converge(t.Context(), echo); err == nil || w.writes != nil {
		t.Errorf("it wrote %v: %v", w.writes, err)
	}
}

func TestAFailedPassIsInTheStatus(t *testing.T) {
	w := newWorld(t, storedEcho())
	w.fail = func(name string) error {
		if name == "apply Service" {
			return errors.New("no")
		}
		return nil
	}
	if _, err := w.failing().Reconcile(t.Context(), w.current(t)); err == nil {
		t.Error("the failure is hidden from the work queue")
	}
	got := w.current(t).Status
	if got.Phase != v1.PhaseWarning || got.Conditions[0].Reason != v1.ReasonApplyFailed.String() {
		t.Errorf("the status is %+v", got)
	}
}
