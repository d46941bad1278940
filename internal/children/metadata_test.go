package children

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func digestOf(t *testing.T, annotations, labels map[string]string, owner metav1.OwnerReference) string {
	t.Helper()
	want, err := complete(corev1ac.Service("x", "ns").WithAnnotations(annotations), labels, owner)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range annotations {
		if want.GetAnnotations()[key] != value {
			t.Errorf("the annotation %s is %q", key, want.GetAnnotations()[key])
		}
	}
	return want.GetAnnotations()[v1.AppliedHashAnnotation]
}

func TestDigestChangesWithEverythingThatIsApplied(t *testing.T) {
	type m = map[string]string
	base := digestOf(t, m{"a": "b"}, m{"c": "d"}, metav1.OwnerReference{UID: "u"})
	if again := digestOf(t, m{"a": "b"}, m{"c": "d"}, metav1.OwnerReference{UID: "u"}); again != base || base == "" {
		t.Errorf("the same has the digests %q and %q", base, again)
	}
	others := m{
		"annotation": digestOf(t, m{"a": "x"}, m{"c": "d"}, metav1.OwnerReference{UID: "u"}),
		"label":      digestOf(t, m{"a": "b"}, m{"c": "x"}, metav1.OwnerReference{UID: "u"}),
		"owner":      digestOf(t, m{"a": "b"}, m{"c": "d"}, metav1.OwnerReference{UID: "x"}),
	}
	for name, other := range others {
		if other == base {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	if _, err := complete(map[string]any{"x": func() {}}, nil, metav1.OwnerReference{}); err == nil {
		t.Error("a function was written as JSON")
	}
}

func TestAccompanyingDoesNotBlockTheDeletionOfThePod(t *testing.T) {
	reference := accompanying(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "u"}})
	if reference.Kind != "Pod" || reference.APIVersion != "v1" || reference.UID != "u" || !*reference.Controller || *reference.BlockOwnerDeletion {
		t.Errorf("got %+v", reference)
	}
}
