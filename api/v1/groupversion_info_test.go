package v1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, object := range map[string]runtime.Object{"Echo": &Echo{}, "EchoList": &EchoList{}} {
		got, _, err := scheme.ObjectKinds(object)
		if err != nil || len(got) != 1 || got[0] != GroupVersion.WithKind(kind) {
			t.Errorf("%T is %v, %v", object, got, err)
		}
	}
	// Clients encode options with the version of the object.
	for _, options := range []runtime.Object{&metav1.ListOptions{}, &metav1.DeleteOptions{}, &metav1.PatchOptions{}} {
		if _, _, err := scheme.ObjectKinds(options); err != nil {
			t.Errorf("%T: %v", options, err)
		}
	}
}
