package v1

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAddToScheme(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(AddToScheme(scheme)).To(Succeed())
	for kind, object := range map[string]runtime.Object{"Echo": &Echo{}, "EchoList": &EchoList{}} {
		got, _, err := scheme.ObjectKinds(object)
		if err != nil || len(got) != 1 || got[0] != GroupVersion.WithKind(kind) {
			t.Errorf("%T is %v, %v", object, got, err)
		}
	}
	// A client encodes request options in the object's group and version, so the scheme must know the option types in that group and version.
	for _, options := range []runtime.Object{&metav1.ListOptions{}, &metav1.DeleteOptions{}, &metav1.PatchOptions{}} {
		g.Expect(scheme.ObjectKinds(options)).Error().NotTo(HaveOccurred(), "%T", options)
	}
}
