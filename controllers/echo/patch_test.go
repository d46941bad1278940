package echo

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestStatusFieldsThatAreGoneAreRemoved(t *testing.T) {
	w := fakecluster.New(t, fakecluster.StoredEcho(func(e *v1.Echo) { e.Status.Message, e.Status.Image = "Old.", "old" }))
	echo := w.Current(t)
	NewWithT(t).Expect(reconciler(w).patchStatus(t.Context(), echo, v1.EchoStatus{Image: "new"})).To(Succeed())
	stored := w.Current(t)
	if stored.Status.Message != "" || stored.Status.Image != "new" || echo.ResourceVersion != stored.ResourceVersion {
		t.Errorf("the status is %+v, the versions are %s and %s", stored.Status, echo.ResourceVersion, stored.ResourceVersion)
	}
}

func TestFinalizersOfOthersAreKept(t *testing.T) {
	w := fakecluster.New(t, fakecluster.StoredEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} }))
	NewWithT(t).Expect(reconciler(w).addFinalizer(t.Context(), w.Current(t))).To(Succeed())
	if got := w.Current(t).Finalizers; len(got) != 2 || got[0] != "example.org/theirs" || got[1] != v1.Finalizer {
		t.Errorf("the finalizers are %v", got)
	}
}

func TestWhatAWebhookChangesStartsAPass(t *testing.T) {
	for name, c := range map[string]struct {
		generation int64
		own        bool
	}{"nothing": {1, true}, "the spec": {2, false}} {
		r, echo := reconciler(fakecluster.New(t)), fakecluster.StoredEcho()
		r.own.Begin(echo, r.Now())
		err := r.patchEcho(echo, controllers.EchoPatch{}, func(answer client.Object, _ client.Patch) error {
			answer.SetUID(echo.UID)
			answer.SetResourceVersion("9")
			answer.SetGeneration(c.generation)
			return nil
		})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		r.own.End(client.ObjectKeyFromObject(echo))
		if starts := r.own.Arrived(client.ObjectKeyFromObject(echo), echo, func() {}); starts == c.own {
			t.Errorf("a webhook changed %s: the event starts a pass: %t", name, starts)
		}
	}
}
