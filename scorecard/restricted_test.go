package main

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// TestRestricted checks that the pods of the operator and those of an Echo are judged, and that a problem names its pod.
func TestRestricted(t *testing.T) {
	loose := func(pod *corev1.Pod) { pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem = nil }
	for name, c := range map[string]struct {
		operator, served func(*corev1.Pod)
		want             []string
	}{
		"all are locked in":     {func(*corev1.Pod) {}, func(*corev1.Pod) {}, nil},
		"the operator is not":   {loose, func(*corev1.Pod) {}, []string{"pod operators/echo-operator-1 container manager can write to its root file system"}},
		"an echo server is not": {func(*corev1.Pod) {}, loose, []string{"pod echoes/served container manager can write to its root file system"}},
		"none is": {loose, loose, []string{"pod operators/echo-operator-1 container manager can write to its root file system",
			"pod echoes/served container manager can write to its root file system"}},
	} {
		b := ownBundle(t)
		pod, served := operatorPod(b), operatorPod(b)
		c.operator(pod)
		c.served(served)
		w := newWorld(t, pod)
		w.before = func(request string, _ runtime.Object) {
			if request != "get Echo" || served.Name == "served" {
				return
			}
			echoes := &v1.EchoList{}
			if err := w.List(t.Context(), echoes); err != nil || len(echoes.Items) != 1 {
				t.Fatalf("%s: there are %v, %v, want an Echo", name, echoes.Items, err)
			}
			served.Namespace, served.Name = "echoes", "served"
			served.Labels = map[string]string{"app.kubernetes.io/managed-by": "echo-operator", "app.kubernetes.io/instance": echoes.Items[0].Name}
			if err := w.Create(t.Context(), served); err != nil {
				t.Fatal(err)
			}
		}
		problems, err := w.run(t.Context(), "restricted", b)
		if err != nil || !slices.Equal(problems, c.want) {
			t.Errorf("%s: the problems are %q, %v, want %q", name, problems, err, c.want)
		}
		for _, want := range []string{"pod operators/echo-operator-1: ", "pod echoes/served: "} {
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("%s: the log is\n%s, want %q", name, &w.log, want)
			}
		}
		w.echoesLeft(t)
	}
}
