package operator

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

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

func TestOtherObjectsAreLeftAsTheyAre(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"a": "b"}}}
	for _, transform := range []func(any) (any, error){stripNode, stripLabelledPod} {
		if got, err := transform(service); err != nil || got != any(service) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
