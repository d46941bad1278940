package testbed

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestNodesFor(t *testing.T) {
	for _, c := range []struct{ pods, want int }{{2, 2}, {250, 2}, {252, 3}, {20000, 81}} {
		if got := NodesFor(c.pods); got != c.want {
			t.Errorf("%d nodes for %d pods, not %d", got, c.pods, c.want)
		}
	}
}

// newEcho returns an Echo that is ready unless a change makes it unready.
func newEcho(name string, changes ...func(*v1.Echo)) *v1.Echo {
	echo := &v1.Echo{Namespace: Namespace, Name: name, Generation: 2, Spec: v1.EchoSpec{Replicas: new(int32(2))}}
	echo.Status = v1.EchoStatus{ObservedGeneration: 2, ReadyReplicas: 2, Image: "image",
		Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}}
	for _, change := range changes {
		change(echo)
	}
	return echo
}

func TestReadyImage(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1.Echo)
		want   string
	}{
		"ready":            {func(*v1.Echo) {}, "image"},
		"new":              {func(e *v1.Echo) { e.Status = v1.EchoStatus{} }, ""},
		"changed":          {func(e *v1.Echo) { e.Generation = 3 }, ""},
		"a pod is missing": {func(e *v1.Echo) { e.Status.ReadyReplicas = 1 }, ""},
		"being rolled out": {func(e *v1.Echo) { e.Status.Conditions[0].Status = metav1.ConditionFalse }, ""},
	} {
		if got := readyImage(newEcho("x", c.change)); got != c.want {
			t.Errorf("%s: the image is %q, not %q", name, got, c.want)
		}
	}
}

func TestEchoCount(t *testing.T) {
	e := &EchoCount{images: map[string]string{}}
	handler := e.handler()
	check := func(all, ready int) {
		t.Helper()
		if a, b := e.All(), e.Ready("image"); a != all || b != ready {
			t.Errorf("there are %d Echoes, and %d are ready; want %d and %d", a, b, all, ready)
		}
	}
	starting := func(echo *v1.Echo) { echo.Status.Conditions = nil }
	handler.OnAdd(newEcho("echo-1", starting), true)
	handler.OnAdd(newEcho("echo-2"), false)
	handler.OnAdd(newEcho("echo-3"), false)
	check(3, 2)
	handler.OnUpdate(newEcho("echo-1", starting), newEcho("echo-1"))
	check(3, 3)
	handler.OnDelete(newEcho("echo-2"))
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: Namespace + "/echo-3"})
	check(1, 1)
}
