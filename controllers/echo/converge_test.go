package echo

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
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestConverge_writesNothingIfRejectedOrPaused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*v1.Echo)
		refused bool
	}{
		"refused": {func(e *v1.Echo) { e.Spec.Replicas = new(int32(21)) }, true},
		"paused":  {func(e *v1.Echo) { e.Spec.Paused = true }, false},
	} {
		w := fakecluster.New(t, fakecluster.StoredEcho(c.change))
		_, err := reconciler(w).converge(t.Context(), w.Current(t))
		if w.Writes != nil || c.refused != errors.As(err, new(*children.InvalidSpecError)) {
			t.Errorf("%s: the reconcile wrote %v: %v", name, w.Writes, err)
		}
	}
}

func TestConverge_writesFinalizerFirst(t *testing.T) {
	w := fakecluster.New(t, fakecluster.StoredEcho(func(e *v1.Echo) { e.Finalizers = nil }))
	NewWithT(t).Expect(reconciler(w).converge(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	if want := []string{"patch x", "apply Service", "apply Deployment", "apply PodDisruptionBudget"}; !slices.Equal(w.Writes, want) {
		t.Errorf("the reconcile wrote %v", w.Writes)
	}
}

func TestConverge_failedWriteEndsReconcile(t *testing.T) {
	g := NewWithT(t)
	for write, want := range map[string][]string{
		"patch x":          {"patch x"},
		"apply Service":    {"patch x", "apply Service"},
		"apply Deployment": {"patch x", "apply Service", "apply Deployment"},
	} {
		w := fakecluster.New(t, fakecluster.StoredEcho(func(e *v1.Echo) { e.Finalizers = nil }))
		w.FailOn(write, errors.New("no"))
		_, err := reconciler(w).converge(t.Context(), w.Current(t))
		g.Expect(err).To(HaveOccurred(), "after %s", write)
		g.Expect(w.Writes).To(HaveExactElements(want), "after %s", write)
	}
}

func TestConverge_failedReadPreventsWrites(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	echo := w.Current(t)
	r := reconciler(w)
	r.Client = interceptor.NewClient(w.Server, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no")
		}})
	g.Expect(r.converge(t.Context(), echo)).Error().To(HaveOccurred())
	g.Expect(w.Writes).To(BeNil())
}

func TestReconcile_failureIsInStatus(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	w.FailOn("apply Service", errors.New("no"))
	g.Expect(failing(w).reconcile(t.Context(), w.Current(t))).Error().To(HaveOccurred(), "the failure is hidden from the queue")
	got := w.Current(t).Status
	g.Expect(got.Phase).To(Equal(v1.PhaseWarning))
	g.Expect(got.Conditions[0].Reason).To(Equal(v1.ReasonApplyFailed.String()))
}
