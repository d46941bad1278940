package operator

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/randfill"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestStripEcho(t *testing.T) {
	want := &v1.Echo{Name: "x", Annotations: map[string]string{"a": "b"}, Spec: v1.EchoSpec{Replicas: new(int32(2))}}
	full := want.DeepCopy()
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: objects.FieldOwner}}
	full.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	got, err := stripEcho(full)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStripChild(t *testing.T) {
	own := metav1.ManagedFieldsEntry{Manager: objects.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}
	others := metav1.ManagedFieldsEntry{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate,
		Subresource: "status"}
	want := &corev1.Service{Name: "x", ManagedFields: []metav1.ManagedFieldsEntry{own}}
	full := want.DeepCopy()
	full.ManagedFields = []metav1.ManagedFieldsEntry{others, own}
	got, err := stripChild(full)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStripPodMonitor(t *testing.T) {
	own := objects.PodMonitor(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: true} })).Desired
	own.SetLabels(nil) // as if another client had removed them
	foreign := own.DeepCopy()
	foreign.SetOwnerReferences(nil)
	identity := objects.NewPodMonitor()
	identity.SetNamespace("ns")
	identity.SetName("x")
	for name, c := range map[string]struct{ object, want *unstructured.Unstructured }{
		"the PodMonitor of an Echo": {own, own.DeepCopy()}, "a foreign PodMonitor": {foreign, identity},
	} {
		got, err := stripPodMonitor(c.object)
		if diff := cmp.Diff(any(c.want), got); err != nil || diff != "" {
			t.Error(name, err, diff)
		}
	}
}

func TestStripNode(t *testing.T) {
	full := &corev1.Node{
		Name: "n", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		Spec: corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}},
	}
	object, err := stripNode(full)
	stripped, ok := object.(*corev1.Node)
	if err != nil || !ok || stripped.Labels != nil || stripped.ManagedFields != nil || stripped.Status.Images != nil {
		t.Errorf("the cache holds %+v, %v", object, err)
	}
	if objects.AcceptsPods(stripped) ||
		!slices.Equal(status.ProblemNames(status.ProblemsOf(stripped)), status.ProblemNames(status.ProblemsOf(full))) {
		t.Error("the node's problems are missing")
	}
}

// TestStripPod checks pods with random fields and with the messages that Kubernetes writes.
func TestStripPod(t *testing.T) {
	texts := []string{"", "echo-server", "tls", "s", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError", "OOMKilled",
		"Error", string(corev1.PodFailed), string(corev1.PodRunning), string(corev1.PodReady), string(corev1.PodScheduled),
		string(corev1.ConditionTrue), string(corev1.ConditionFalse), "ReplicaSet", "app.kubernetes.io/name", "app.kubernetes.io/instance",
		v1.AppliedHashAnnotation, "echo-server: cannot read the certificate of Secret s"}
	random := rand.New(rand.NewSource(1))
	text := func() string { return texts[random.Intn(len(texts))] }
	fill := randfill.NewWithSeed(1).NilChance(.3).NumElements(1, 4).MaxDepth(10).Funcs(
		func(s *string, _ randfill.Continue) { *s = text() },
		func(i *int32, _ randfill.Continue) { *i = random.Int31n(2) },
		func(s *corev1.PodConditionType, _ randfill.Continue) { *s = corev1.PodConditionType(text()) },
		func(s *corev1.ConditionStatus, _ randfill.Continue) { *s = corev1.ConditionStatus(text()) },
		func(s *corev1.PodPhase, _ randfill.Continue) { *s = corev1.PodPhase(text()) },
	)
	states := map[string]int{}
	for range 2000 {
		full := &corev1.Pod{}
		fill.Fill(full)
		object, err := stripPod(full.DeepCopy())
		stripped, ok := object.(*corev1.Pod)
		if err != nil || !ok {
			t.Fatalf("got %T, %v", object, err)
		}
		states[status.PodState(full)]++
		if status.PodDiffers(full, stripped) || objects.TLSSecret(full) != objects.TLSSecret(stripped) ||
			objects.IsCompanion(full) != objects.IsCompanion(stripped) || objects.IsEchoPod(full) != objects.IsEchoPod(stripped) ||
			objects.HasEnded(full) != objects.HasEnded(stripped) ||
			full.Annotations[v1.AppliedHashAnnotation] != stripped.Annotations[v1.AppliedHashAnnotation] || full.UID != stripped.UID {
			t.Fatalf("the operator reads different data from\n%+v\n%+v", full, stripped)
		}
	}
	if len(states) < 4 {
		t.Errorf("the pods have only the states %v", states)
	}
}

func TestStripPod_keepsOtherKinds(t *testing.T) {
	service := &corev1.Service{Name: "s", Labels: map[string]string{"a": "b"}}
	for _, transform := range []func(any) (any, error){stripEcho, stripNode, stripLabeledPod, stripPod} {
		if got, err := transform(service); err != nil || got != any(service) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
