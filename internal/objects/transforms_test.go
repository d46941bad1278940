package objects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestStrip_echo(t *testing.T) {
	want := &v1.Echo{Name: "x", Annotations: map[string]string{"a": "b"}, Spec: v1.EchoSpec{Replicas: new(int32(2))}}
	full := want.DeepCopy()
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: FieldOwner}}
	full.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	got, err := Strip(full)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStrip_child(t *testing.T) {
	own := metav1.ManagedFieldsEntry{Manager: FieldOwner, Operation: metav1.ManagedFieldsOperationApply}
	others := metav1.ManagedFieldsEntry{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate,
		Subresource: "status"}
	want := &corev1.Service{Name: "x", ManagedFields: []metav1.ManagedFieldsEntry{own}}
	full := want.DeepCopy()
	full.ManagedFields = []metav1.ManagedFieldsEntry{others, own}
	got, err := Strip(full)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStrip_podMonitor(t *testing.T) {
	own := PodMonitor(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: true} })).Desired
	own.SetLabels(nil) // as if another client had removed them
	foreign := own.DeepCopy()
	foreign.SetOwnerReferences(nil)
	identity := NewPodMonitor()
	identity.SetNamespace("ns")
	identity.SetName("x")
	for name, c := range map[string]struct{ object, want *unstructured.Unstructured }{
		"the PodMonitor of an Echo": {own, own.DeepCopy()}, "a foreign PodMonitor": {foreign, identity},
	} {
		got, err := Strip(c.object)
		if diff := cmp.Diff(any(c.want), got); err != nil || diff != "" {
			t.Error(name, err, diff)
		}
	}
}

func TestStrip_node(t *testing.T) {
	want := &corev1.Node{
		Name: "n", UID: "u", ResourceVersion: "7", Spec: corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}},
	}
	full := want.DeepCopy()
	full.Labels, full.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	full.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}}
	got, err := Strip(full)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStrip_gateway(t *testing.T) {
	want := &gatewayv1.Gateway{
		Namespace: "ns", Name: "g", UID: "u", ResourceVersion: "7", Generation: 2,
		Spec:   gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{{Name: "l"}}},
		Status: gatewayv1.GatewayStatus{Addresses: []gatewayv1.GatewayStatusAddress{{Value: "10.0.0.1"}}},
	}
	full := want.DeepCopy()
	full.Labels, full.Spec.GatewayClassName = map[string]string{"a": "b"}, "c"
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	full.Status.Conditions = []metav1.Condition{{Type: "Programmed"}}
	got, err := Strip(full)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStripLabeledPod(t *testing.T) {
	full := &corev1.Pod{
		Namespace: "ns", Name: "p", UID: "u", DeletionTimestamp: new(metav1.Now()),
		Labels: map[string]string{v1.CompanionLabel: "x", "app": "web"}, Annotations: map[string]string{"a": "b"},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", Name: "o", Controller: new(true)}},
		Spec:            corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{{Key: "k"}}, Containers: []corev1.Container{{Name: "c"}}},
		Status:          corev1.PodStatus{Phase: corev1.PodFailed, PodIP: "10.0.0.1"},
	}
	want := &corev1.Pod{
		Namespace: "ns", Name: "p", UID: "u", DeletionTimestamp: full.DeletionTimestamp,
		Labels: map[string]string{v1.CompanionLabel: "x"}, OwnerReferences: full.OwnerReferences,
		Spec:   corev1.PodSpec{NodeName: "n", Tolerations: full.Spec.Tolerations},
		Status: corev1.PodStatus{Phase: corev1.PodFailed},
	}
	got, err := StripLabeledPod(full)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestStrip_keepsOtherObjects(t *testing.T) {
	for _, object := range []any{cache.DeletedFinalStateUnknown{Key: "a"}, "b"} {
		for _, transform := range []func(any) (any, error){Strip, StripLabeledPod} {
			if got, err := transform(object); err != nil || got != object {
				t.Errorf("got %+v, %v", got, err)
			}
		}
	}
}
