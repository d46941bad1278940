package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/internal/objects"

	"github.com/echo-operator/echo-operator/internal/status"
)

func TestReconcile_clearsNumbersOfMissingDeployment(t *testing.T) {
	w := New(t, StoredEcho(func(e *v1.Echo) {
		e.Spec.Paused, e.Finalizers = true, []string{v1.Finalizer}
		e.Status = v1.EchoStatus{Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, Image: "a:1"}
	}))
	NewWithT(t).Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	if s := w.Current(t).Status; s.Replicas+s.ReadyReplicas+s.UpdatedReplicas != 0 || s.Image != "" {
		t.Errorf("the status reports %d, %d and %d replicas of %q", s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.Image)
	}
}

func TestListPods(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := EchoPod()
		change(p)
		return p
	}
	newer := pod(func(p *corev1.Pod) { p.Name, p.CreationTimestamp = "x-2", metav1.Unix(1, 0) })
	elsewhere := pod(func(p *corev1.Pod) { p.Namespace = "elsewhere" })
	neighbour := pod(func(p *corev1.Pod) { p.Name, p.Labels["app.kubernetes.io/instance"] = "y-1", "y" })
	copied := pod(func(p *corev1.Pod) { p.Name, p.OwnerReferences[0].Kind = "copied", "Job" })
	w := New(t, EchoPod(), newer, elsewhere, neighbour, copied, CompanionPod(t))
	for _, which := range []client.ListOption{CachedPodsOf(StoredEcho()), livePodsOf(StoredEcho())} {
		pods, companions, err := listPods(t.Context(), w.Server, StoredEcho(), which)
		if err != nil || len(pods) != 2 || pods[0].Name != "x-2" || pods[1].Name != "x-1" || len(companions) != 1 ||
			companions[0].Name != CompanionPod(t).Name {
			t.Errorf("got %v and %v, %v", pods, companions, err)
		}
		if pods, companions, err := listPods(t.Context(), New(t).Server, StoredEcho(), which); err != nil ||
			pods == nil || companions == nil {
			t.Errorf("no pods must be an empty list: %v, %v, %v", pods, companions, err)
		}
	}
}

func TestNodesOf(t *testing.T) {
	node := []client.Object{&corev1.Node{Name: "n"}}
	pods := []corev1.Pod{*OwnerPod()}
	healthy, deleted := status.Node{Pods: 1}, status.Node{Pods: 1, Problems: status.ProblemsOf(nil)}
	known := func(e *v1.Echo) { e.Status.NodeProblems = map[string][]string{"n": {status.NodeDeleted}} }
	for name, c := range map[string]struct {
		cached, live []client.Object
		echo         *v1.Echo
		want         status.Node
	}{
		"cached":                    {node, nil, StoredEcho(), healthy},
		"not in the cache yet":      {nil, node, StoredEcho(), healthy},
		"gone":                      {nil, nil, StoredEcho(), deleted},
		"known to be gone":          {nil, node, StoredEcho(known), deleted}, // without a request
		"known to be gone, is back": {node, node, StoredEcho(known), healthy},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := echoReconciler(NewLate(t, c.cached, c.live)).nodesOf(t.Context(), c.echo, pods)
			if diff := cmp.Diff(map[string]status.Node{"n": c.want}, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestWithChildren_reportsUnwatchedChild(t *testing.T) {
	g := NewWithT(t)
	for label, want := range map[string]bool{"echo-operator": false, "Helm": true} {
		service := OwnedService(StoredEcho())
		service.Labels = map[string]string{"app.kubernetes.io/managed-by": label}
		w := New(t, StoredEcho(), service)
		desired, err := objects.Desired(StoredEcho(), objects.Config{Images: w.Dependencies.Images})
		g.Expect(err).NotTo(HaveOccurred())
		found, err := readAll(t.Context(), StoredEcho(), desired, echoReconciler(w).read)
		g.Expect(err).NotTo(HaveOccurred(), "with the label %s", label)
		g.Expect(withChildren(status.Observation{}, found).Unwatched).To(Equal(want), "with the label %s", label)
	}
}

func TestMissingCompanions(t *testing.T) {
	g := NewWithT(t)
	another := OwnerPod(func(p *corev1.Pod) { p.Name, p.UID = "web-1", "u1" })
	w := New(t, StoredEcho(), OwnerPod(), another)
	for want, companions := range map[int][]corev1.Pod{2: nil, 1: {*CompanionPod(t)}} {
		g.Expect(echoReconciler(w).missingCompanions(t.Context(), StoredEcho(), companions)).To(Equal(want))
	}
}
