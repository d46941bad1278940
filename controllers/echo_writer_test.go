package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestEchoWriter_doesNotExpectWhatAWebhookChanges(t *testing.T) {
	for name, c := range map[string]struct {
		generation int64
		own        bool
	}{"nothing": {1, true}, "the spec": {2, false}} {
		echo, own := support.Echo("ns", "x", func(e *v1.Echo) { e.Generation = 1 }), false
		w := EchoWriter{Wrote: func(client.ObjectKey, client.Object, client.Object) { own = true }}
		err := w.patch(echo, echoPatch{}, func(response client.Object, _ client.Patch) error {
			response.SetResourceVersion("9")
			response.SetGeneration(c.generation)
			return nil
		})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if own != c.own || echo.ResourceVersion != "9" {
			t.Errorf("a webhook changed %s: the event starts a reconcile: %t; the version is %s", name, !own, echo.ResourceVersion)
		}
	}
}
