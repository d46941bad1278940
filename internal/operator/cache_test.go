package operator

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestEveryKindThatTheOperatorCreatesIsSelected(t *testing.T) {
	options := cacheOptions(nil)
	selected := 0
	for object, by := range options.ByObject {
		if _, ok := object.(*corev1.Node); ok {
			continue
		}
		selected++
		if by.Label == nil || by.Label.Matches(labels.Set{}) || !by.Label.Matches(labels.Set{"app.kubernetes.io/managed-by": "echo-operator"}) {
			t.Errorf("%T is selected by %v", object, by.Label)
		}
	}
	if want := len(children.Kinds()) + 1; selected != want {
		t.Errorf("%d kinds are selected, want %d: those of children, and pods", selected, want)
	}
}

func TestNamespaceConfigs(t *testing.T) {
	if got := namespaceConfigs(nil); got != nil {
		t.Errorf("all namespaces: %v", got)
	}
	if diff := cmp.Diff(map[string]cache.Config{"a": {}, "b": {}}, namespaceConfigs([]string{"a", "b"})); diff != "" {
		t.Error(diff)
	}
}

func TestStripNodeKeepsWhatTheOperatorReads(t *testing.T) {
	full := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}},
	}
	object, err := stripNode(full)
	stripped, ok := object.(*corev1.Node)
	if err != nil || !ok || stripped.Labels != nil || stripped.ManagedFields != nil || stripped.Status.Images != nil {
		t.Errorf("the cache holds %+v, %v", object, err)
	}
	if children.AcceptsPods(stripped) || !slices.Equal(status.ProblemNames(status.ProblemsOf(stripped)), status.ProblemNames(status.ProblemsOf(full))) {
		t.Error("the problems of the node are lost")
	}
}

func TestStripLabelledPodKeepsWhatTheOperatorReads(t *testing.T) {
	full := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", DeletionTimestamp: new(metav1.Now()),
			Labels: map[string]string{v1.CompanionLabel: "x", "app": "web"}, Annotations: map[string]string{"a": "b"},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", Name: "o", Controller: new(true)}}},
		Spec:   corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{{Key: "k"}}, Containers: []corev1.Container{{Name: "c"}}},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, PodIP: "10.0.0.1"},
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", DeletionTimestamp: full.DeletionTimestamp,
			Labels: map[string]string{v1.CompanionLabel: "x"}, OwnerReferences: full.OwnerReferences},
		Spec:   corev1.PodSpec{NodeName: "n", Tolerations: full.Spec.Tolerations},
		Status: corev1.PodStatus{Phase: corev1.PodFailed},
	}
	got, err := stripLabelledPod(full)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestOtherObjectsAreLeftAsTheyAre(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"a": "b"}}}
	for _, transform := range []func(any) (any, error){stripNode, stripLabelledPod} {
		if got, err := transform(service); err != nil || got != any(service) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
