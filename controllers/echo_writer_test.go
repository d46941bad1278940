package controllers

import (
	"context"
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// TestEchoWriter_writesAMapOfPods checks that the stored status always contains a map of pods, because the console displays nothing if the
// map is missing or null.
func TestEchoWriter_writesAMapOfPods(t *testing.T) {
	none, one := map[string][]string{}, map[string][]string{"Ready": {"p"}}
	for name, c := range map[string]struct {
		stored        string
		before, after map[string][]string
		want          string
	}{
		"before the pods were read": {`{}`, nil, nil, `{}`},
		"no pods":                   {`{}`, nil, none, `{}`},
		"a status without it":       {`{"phase": "Ready"}`, nil, none, `{}`},
		"the first pod":             {`{"phase": "Ready", "pods": {}}`, none, one, `{"Ready": ["p"]}`},
		"the last pod is gone":      {`{"phase": "Ready", "pods": {"Ready": ["p"]}}`, one, none, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			echo, status := support.Echo("ns", "x"), &v1.EchoStatus{Phase: v1.PhaseReady, Pods: c.after}
			g.Expect(json.Unmarshal([]byte(c.stored), &echo.Status)).To(Succeed())
			g.Expect(echo.Status.Pods).To(Equal(c.before))
			stored, writes := []byte(c.stored), 0
			writer := echoWriter{client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{SubResourcePatch: func(
				_ context.Context, _ client.Client, _ string, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption,
			) error {
				body, err := patch.Data(object)
				g.Expect(err).NotTo(HaveOccurred())
				sent := echoPatch{}
				g.Expect(json.Unmarshal(body, &sent)).To(Succeed())
				stored, err = jsonpatch.MergePatch(stored, sent.Status)
				writes++
				return err
			}})}
			for range 2 {
				g.Expect(writer.setStatus(t.Context(), echo, status)).To(Succeed())
			}
			got := struct{ Pods json.RawMessage }{}
			g.Expect(json.Unmarshal(stored, &got)).To(Succeed())
			g.Expect(got.Pods).To(MatchJSON(c.want))
			g.Expect(writes).To(Equal(1), "a status that is written once does not differ")
		})
	}
}

func TestEchoWriter_removesClearedStatusFields(t *testing.T) {
	w := New(t, StoredEcho(func(e *v1.Echo) { e.Status.Message, e.Status.Image = "Old.", "old" }))
	echo := w.Current(t)
	NewWithT(t).Expect(echoReconciler(w).echoWriter(echo).setStatus(t.Context(), echo, &v1.EchoStatus{Image: "new"})).To(Succeed())
	stored := w.Current(t)
	if stored.Status.Message != "" || stored.Status.Image != "new" || echo.ResourceVersion != stored.ResourceVersion {
		t.Errorf("the status is %+v, the versions are %s and %s", stored.Status, echo.ResourceVersion, stored.ResourceVersion)
	}
}

func TestAddFinalizer_keepsForeignFinalizers(t *testing.T) {
	w := New(t, StoredEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} }))
	NewWithT(t).Expect(echoReconciler(w).addFinalizer(t.Context(), w.Current(t))).To(Succeed())
	if got := w.Current(t).Finalizers; len(got) != 2 || got[0] != "example.org/theirs" || got[1] != v1.Finalizer {
		t.Errorf("the finalizers are %v", got)
	}
}
