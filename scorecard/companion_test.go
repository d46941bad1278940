package main

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func podNamed(name, kind, instance string) *corev1.Pod {
	labels := map[string]string{"app.kubernetes.io/name": kind, "app.kubernetes.io/instance": instance, "app.kubernetes.io/managed-by": "echo-operator"}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "echoes", Name: name, Labels: labels}}
}

// ownedBy makes a pod the companion of another, and returns it.
func ownedBy(pod, owner *corev1.Pod) *corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Pod"))}
	return pod
}

// companions returns a world with pods of several owners, in which the operator makes a companion when it sees the label, if makes is
// set, and deletes it when it does not, if removes is set. It acts on the third look at the pods.
func companions(t *testing.T, makes, removes bool) *world {
	t.Helper()
	owner, other := podNamed("a-pod", "echo", "test"), podNamed("b-pod", "echo", "other")
	owner.UID, other.UID = "u1", "u2"
	w := newWorld(t, owner, other, ownedBy(podNamed("c-pod", "echo-companion", "test"), other))
	acting := false
	looks := 0
	w.before = func(request string, _ runtime.Object) {
		if looks++; acting || request != "list Pod" || looks%3 != 0 {
			return
		}
		acting = true
		defer func() { acting = false }()
		now := &corev1.Pod{}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(owner), now); err != nil {
			t.Error(err)
		}
		mine := ownedBy(podNamed("d-pod", "echo-companion", "test"), owner)
		asked, labelled := now.Labels[v1.CompanionLabel]
		if labelled && asked == "test" && makes {
			_ = w.Create(t.Context(), mine)
		}
		if !labelled && removes {
			_ = w.Delete(t.Context(), mine)
		}
	}
	return w
}

func TestCompanionComesAndGoes(t *testing.T) {
	for name, c := range map[string]struct {
		makes, removes bool
		want           string
	}{
		"it comes and goes": {true, true, ""},
		"it never comes":    {false, true, "the pod a-pod has no companion after 1m30s"},
		"it stays":          {true, false, "the companion of the pod a-pod still exists 1m30s after its label was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				companion, err := companions(t, c.makes, c.removes).companionOf(t.Context(), testEcho())
				if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("the error is %v, want %q", err, c.want)
				}
				if c.want == "" && (err != nil || companion == nil || companion.Name != "d-pod") {
					t.Errorf("the companion is %v, %v, want d-pod", companion, err)
				}
			})
		})
	}
}

func TestCompanionCannotBeAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *world)
		want  string
	}{
		"no pod":                {func(w *world) { _ = w.Delete(t.Context(), podNamed("a-pod", "", "")) }, "the Echo test is Ready and has no pod"},
		"pods cannot be listed": {func(w *world) { w.fail["list Pod"] = errInjected }, errInjected.Error()},
		"no label can be set":   {func(w *world) { w.fail["patch Pod"] = errInjected }, errInjected.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := companions(t, true, true)
			c.spoil(w)
			if companion, err := w.companionOf(t.Context(), testEcho()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, %v, want %q", name, companion, err, c.want)
			}
		})
	}
}

// TestPodsWhenReady checks that the pods of an Echo are those that the operator manages, and that a companion is one of them.
func TestPodsWhenReady(t *testing.T) {
	for name, c := range map[string]struct {
		echo  string
		spoil func(w *world)
		pods  int
		want  string
	}{
		"pods and companions": {"test", func(*world) {}, 2, ""},
		"no pods":             {"lonely", func(*world) {}, 0, "the Echo lonely is Ready and has no pods"},
		"not listed":          {"test", func(w *world) { w.fail["list Pod"] = errInjected }, 0, errInjected.Error()},
		"not Ready":           {"test", func(w *world) { w.fail["get Echo"] = errInjected }, 0, "the Echo test is not Ready"},
	} {
		w := companions(t, false, false)
		echo := plainEcho("echoes")
		echo.Name = c.echo
		if err := w.Create(t.Context(), echo); err != nil {
			t.Fatal(err)
		}
		c.spoil(w)
		pods, err := w.podsWhenReady(t.Context(), echo)
		if len(pods) != c.pods || c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d pods, %v, want %d, %q", name, len(pods), err, c.pods, c.want)
		}
	}
}

func TestEchoWhosePodsAreLookedAtGoes(t *testing.T) {
	w := newWorld(t)
	if pods, err := w.podsOfAnEcho(t.Context()); err == nil || !strings.Contains(err.Error(), "has no pods") {
		t.Errorf("the pods are %v, %v", pods, err)
	}
	w.echoesLeft(t)
	w.fail["create Echo"] = errInjected
	if pods, err := w.podsOfAnEcho(t.Context()); !errors.Is(err, errInjected) {
		t.Errorf("the pods are %v, %v, want %v", pods, err, errInjected)
	}
}
