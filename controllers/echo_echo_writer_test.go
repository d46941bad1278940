package controllers

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestEchoWriter_removesClearedStatusFields(t *testing.T) {
	w := New(t, StoredEcho(func(e *v1.Echo) { e.Status.Message, e.Status.Image = "Old.", "old" }))
	echo := w.Current(t)
	NewWithT(t).Expect(echoReconciler(w).echoWriter().SetStatus(t.Context(), echo, &v1.EchoStatus{Image: "new"})).To(Succeed())
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
