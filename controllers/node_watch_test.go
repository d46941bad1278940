package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestSlimNode(t *testing.T) {
	fat := node(true, notReady)
	fat.Labels, fat.ManagedFields = map[string]string{"a": "b"}, []metav1.ManagedFieldsEntry{{Manager: "m"}}
	fat.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}}
	object, err := SlimNode(fat)
	slim, ok := object.(*corev1.Node)
	if err != nil || !ok || slim.Name != "n" || slim.Labels != nil || slim.ManagedFields != nil || slim.Status.Images != nil {
		t.Errorf("the cache holds %+v, %v", object, err)
	}
	if takesPods(slim) || say(problemsOf(slim)) != say(problemsOf(fat)) {
		t.Error("the cache does not tell what is wrong with a node")
	}
}

func TestNodeTurned(t *testing.T) {
	said := notReady
	said.Message, said.LastHeartbeatTime = "another message", metav1.Now()
	for name, c := range map[string]struct {
		before, after *corev1.Node
		want          bool
	}{
		"a heartbeat":     {node(false, fine), node(false, fine), false},
		"another message": {node(false, notReady), node(false, said), false},
		"lost":            {node(false, fine), node(false, notReady), true},
		"back":            {node(false, notReady), node(false, fine), true},
		"cordoned":        {node(false, fine), node(true, fine), true},
		"under pressure":  {node(false, fine), node(false, fine, full), true},
	} {
		if got := nodeTurned().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
