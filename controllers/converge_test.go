package controllers

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
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
	NewWithT(t).Expect(w.echoes().converge(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	if want := []string{"patch x", "apply Service", "apply Deployment", "apply PodDisruptionBudget"}; !slices.Equal(w.writes, want) {
		t.Errorf("it wrote %v", w.writes)
	}
}

func TestAFailedWriteEndsThePass(t *testing.T) {
	g := NewWithT(t)
	for write, want := range map[string][]string{
		"patch x":          {"patch x"},
		"apply Service":    {"patch x", "apply Service"},
		"apply Deployment": {"patch x", "apply Service", "apply Deployment"},
	} {
		w := newWorld(t, storedEcho(func(e *v1.Echo) { e.Finalizers = nil }))
		w.failOn(write, errors.New("no"))
		_, err := w.echoes().converge(t.Context(), w.current(t))
		g.Expect(err).To(HaveOccurred(), "after %s", write)
		g.Expect(w.writes).To(HaveExactElements(want), "after %s", write)
	}
}

func TestAFailedReadIsReportedBeforeAnythingIsWritten(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho())
	echo := w.current(t)
	r := w.echoes()
	r.Client = interceptor.NewClient(w.server, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no")
		}})
	g.Expect(r.converge(t.Context(), echo)).Error().To(HaveOccurred())
	g.Expect(w.writes).To(BeNil())
}

func TestAFailedPassIsInTheStatus(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho())
	w.failOn("apply Service", errors.New("no"))
	g.Expect(w.failing().Reconcile(t.Context(), w.current(t))).Error().To(HaveOccurred(), "it is hidden from the queue")
	got := w.current(t).Status
	g.Expect(got.Phase).To(Equal(v1.PhaseWarning))
	g.Expect(got.Conditions[0].Reason).To(Equal(v1.ReasonApplyFailed.String()))
}
