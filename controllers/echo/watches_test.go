package echo

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestPodChanged(t *testing.T) {
	pod := func(phase corev1.PodPhase, address string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: phase, PodIP: address}}
	}
	fakecluster.Updates{
		"an address":   {pod(corev1.PodRunning, ""), pod(corev1.PodRunning, "10.0.0.1"), false},
		"failed":       {pod(corev1.PodRunning, ""), pod(corev1.PodFailed, ""), true},
		"another kind": {&corev1.Service{}, &corev1.Service{}, true},
	}.Check(t, podChanged())
}

func TestNodeChanged(t *testing.T) {
	node := func(unschedulable bool, ready corev1.ConditionStatus, message string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: message, LastHeartbeatTime: metav1.Now()}}}}
	}
	fakecluster.Updates{
		"a heartbeat":     {node(false, "True", ""), node(false, "True", ""), false},
		"another message": {node(false, "Unknown", "a"), node(false, "Unknown", "b"), false},
		"lost":            {node(false, "True", ""), node(false, "Unknown", ""), true},
		"back":            {node(false, "Unknown", ""), node(false, "True", ""), true},
		"cordoned":        {node(false, "True", ""), node(true, "True", ""), true},
	}.Check(t, nodeChanged())
}

func TestEchoOfPod(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x-1",
		Labels: map[string]string{"app.kubernetes.io/instance": "x"}}}
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "x"}}}
	g.Expect(echoOfPod(context.Background(), pod)).To(BeComparableTo(want))
	pod.Labels = nil
	g.Expect(echoOfPod(context.Background(), pod)).To(BeEmpty())
}
