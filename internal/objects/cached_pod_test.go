package objects

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// TestPodOf_readsOnlyCachedFields checks that the caches keep everything that Pod and LabeledPod hold, in pods with random fields. Each field
// of the types must have a value in some pod, so that the test compares it.
func TestPodOf_readsOnlyCachedFields(t *testing.T) {
	fill := podFiller()
	seen := map[string]bool{}
	for range 300 {
		full := &corev1.Pod{}
		fill.Fill(full)
		makeOperators(full)
		for _, c := range []struct {
			strip   func(any) (any, error)
			convert func(*corev1.Pod) any
		}{
			{Strip, func(pod *corev1.Pod) any { return PodOf(pod) }},
			{StripLabeledPod, func(pod *corev1.Pod) any { return LabeledPodOf(pod) }},
		} {
			stripped, err := c.strip(full.DeepCopy())
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			want := c.convert(full)
			if diff := cmp.Diff(want, c.convert(stripped.(*corev1.Pod)), cmp.AllowUnexported(Pod{}, LabeledPod{}, podBase{})); diff != "" {
				t.Fatalf("the cache lacks a field of %T: %s", want, diff)
			}
			for _, field := range reflect.VisibleFields(reflect.TypeOf(want).Elem()) {
				name := reflect.TypeOf(want).Elem().Name() + "." + field.Name
				seen[name] = seen[name] || !reflect.ValueOf(want).Elem().FieldByIndex(field.Index).IsZero()
			}
		}
	}
	for name, filled := range seen {
		if !filled {
			t.Errorf("%s is empty in all pods", name)
		}
	}
}

// podFiller fills pods with random fields, and with the names and values that the operator looks for.
func podFiller() *randfill.Filler {
	texts := []string{"", ContainerName, tlsVolume, "s", "ImagePullBackOff", "Error", string(corev1.PodFailed), string(corev1.PodRunning),
		string(corev1.PodReady), string(corev1.PodScheduled), string(corev1.ConditionTrue), string(corev1.ConditionFalse), "ReplicaSet", "Pod",
		v1.AppliedHashAnnotation}
	random := rand.New(rand.NewSource(1))
	text := func() string { return texts[random.Intn(len(texts))] }
	return randfill.NewWithSeed(1).NilChance(.3).NumElements(1, 4).MaxDepth(10).Funcs(
		func(s *string, _ randfill.Continue) { *s = text() },
		func(i *int32, _ randfill.Continue) { *i = random.Int31n(2) },
		func(t *metav1.Time, _ randfill.Continue) { *t = metav1.Unix(random.Int63n(9), 0) },
		func(s *corev1.PodConditionType, _ randfill.Continue) { *s = corev1.PodConditionType(text()) },
		func(s *corev1.ConditionStatus, _ randfill.Continue) { *s = corev1.ConditionStatus(text()) },
		func(s *corev1.PodPhase, _ randfill.Continue) { *s = corev1.PodPhase(text()) },
	)
}

// makeOperators gives a pod the labels that the operator reads and, if a pod controls it, the name of a companion. Random text would rarely
// match.
func makeOperators(pod *corev1.Pod) {
	pod.Labels = map[string]string{LabelName: checkNameValue, LabelInstance: pod.Spec.NodeName, v1.CheckLabel: pod.Spec.Hostname,
		v1.CompanionLabel: pod.Spec.Subdomain}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "Pod" {
		pod.Name = companionName(owner.Name, owner.UID)
	}
}

func TestObject_identifiesPod(t *testing.T) {
	want := &corev1.Pod{Namespace: "ns", Name: "p", UID: "u", ResourceVersion: "7"}
	full := want.DeepCopy()
	full.Labels, full.Spec.NodeName = map[string]string{"a": "b"}, "n"
	NewWithT(t).Expect(PodOf(full).Object()).To(BeComparableTo(want))
}
