package controllers

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestRead(t *testing.T) {
	echo := storedEcho()
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}}
	earlier := ownedService(storedEcho(func(e *v1.Echo) { e.UID = "of an earlier Echo" }))
	none, own := []client.Object{}, []client.Object{ownedService(echo)}
	for name, c := range map[string]struct {
		cached, live []client.Object
		unwanted     bool
		found, taken bool
	}{
		"absent":                        {cached: none, live: none},
		"cached":                        {cached: own, live: own, found: true},
		"not in the cache yet":          {cached: none, live: own, found: true},
		"without the operator's label":  {cached: none, live: []client.Object{foreign}, taken: true},
		"of somebody else":              {cached: []client.Object{foreign}, live: []client.Object{foreign}, taken: true},
		"of an earlier Echo":            {cached: []client.Object{earlier}, live: []client.Object{earlier}, taken: true},
		"of an earlier Echo, replaced":  {cached: []client.Object{earlier}, live: own, found: true},
		"of somebody else, not wanted":  {cached: []client.Object{foreign}, live: []client.Object{foreign}, unwanted: true},
		"cached, but not wanted":        {cached: own, live: own, unwanted: true, found: true},
		"deleted, which the cache lags": {cached: []client.Object{earlier}, live: none},
	} {
		t.Run(name, func(t *testing.T) {
			child := firstChild(t)
			if c.unwanted {
				child.Want = nil
			}
			got, err := newLateWorld(t, c.cached, c.live).echoes().read(t.Context(), echo, child)
			if taken := errors.As(err, new(*children.NameConflictError)); taken != c.taken || !taken && err != nil || (got != nil) != c.found {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestTheNumbersOfADeploymentThatIsGoneAreNotTold(t *testing.T) {
	w := newWorld(t, storedEcho(func(e *v1.Echo) {
		e.Spec.Paused, e.Finalizers = true, []string{v1.Finalizer}
		e.Status = v1.EchoStatus{Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, Image: "a:1"}
	}))
	NewWithT(t).Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	if s := w.current(t).Status; s.Replicas+s.ReadyReplicas+s.UpdatedReplicas != 0 || s.Image != "" {
		t.Errorf("the status tells of %d, %d and %d replicas of %q", s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.Image)
	}
}

func TestListPodsReturnsThePodsAndCompanionsOfOneEcho(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := echoPod()
		change(p)
		return p
	}
	newer := pod(func(p *corev1.Pod) { p.Name, p.CreationTimestamp = "x-2", metav1.Unix(1, 0) })
	elsewhere := pod(func(p *corev1.Pod) { p.Namespace = "elsewhere" })
	neighbour := pod(func(p *corev1.Pod) { p.Name, p.Labels["app.kubernetes.io/instance"] = "y-1", "y" })
	copied := pod(func(p *corev1.Pod) { p.Name, p.OwnerReferences[0].Kind = "copied", "Job" })
	w := newWorld(t, echoPod(), newer, elsewhere, neighbour, copied, companionPod(t))
	for _, which := range []client.ListOption{cachedPodsOf(storedEcho()), livePodsOf(storedEcho())} {
		pods, companions, err := listPods(t.Context(), w.server, storedEcho(), which)
		if err != nil || len(pods) != 2 || pods[0].Name != "x-2" || pods[1].Name != "x-1" || len(companions) != 1 || companions[0].Name != companionPod(t).Name {
			t.Errorf("got %v and %v, %v", pods, companions, err)
		}
		if pods, companions, err := listPods(t.Context(), newWorld(t).server, storedEcho(), which); err != nil || pods == nil || companions == nil {
			t.Errorf("no pods must be an empty list: %v, %v, %v", pods, companions, err)
		}
	}
}

func TestANodeIsReportedAsDeletedOnlyAfterTheAPIServerWasAsked(t *testing.T) {
	node := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	pods := []corev1.Pod{*ownerPod()}
	healthy, deleted := status.Node{Pods: 1}, status.Node{Pods: 1, Problems: status.ProblemsOf(nil)}
	known := func(e *v1.Echo) { e.Status.NodeProblems = map[string][]string{"n": {status.NodeDeleted}} }
	for name, c := range map[string]struct {
		cached, live []client.Object
		echo         *v1.Echo
		want         status.Node
	}{
		"cached":                    {node, nil, storedEcho(), healthy},
		"not in the cache yet":      {nil, node, storedEcho(), healthy},
		"gone":                      {nil, nil, storedEcho(), deleted},
		"known to be gone":          {nil, node, storedEcho(known), deleted}, // without a request
		"known to be gone, is back": {node, node, storedEcho(known), healthy},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newLateWorld(t, c.cached, c.live).echoes().nodesOf(t.Context(), c.echo, pods)
			if diff := cmp.Diff(map[string]status.Node{"n": c.want}, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestFind(t *testing.T) {
	w := newWorld(t, storedEcho())
	key := client.ObjectKey{Namespace: "ns", Name: "x"}
	if echo, err := find(t.Context(), w.server, key, storedEcho()); err != nil || echo == nil || echo.UID != "echo-uid" {
		t.Errorf("got %v, %v", echo, err)
	}
	for _, absent := range []client.ObjectKey{{Namespace: "ns", Name: "y"}, {Namespace: "ns"}} {
		if echo, err := find(t.Context(), w.server, absent, storedEcho()); err != nil || echo != nil {
			t.Errorf("%s: got %v, %v", absent, echo, err)
		}
	}
}

func TestAChildThatLostItsLabelIsNotWatched(t *testing.T) {
	g := NewWithT(t)
	for label, want := range map[string]bool{"echo-operator": false, "Helm": true} {
		service := ownedService(storedEcho())
		service.Labels = map[string]string{"app.kubernetes.io/managed-by": label}
		w := newWorld(t, storedEcho(), service)
		wanted, err := children.Of(storedEcho(), children.Config{Images: w.dependencies.Images})
		g.Expect(err).NotTo(HaveOccurred())
		seen := status.Observation{}
		_, err = w.echoes().readAll(t.Context(), storedEcho(), wanted, w.echoes().read, &seen)
		g.Expect(err).NotTo(HaveOccurred(), "with the label %s", label)
		g.Expect(seen.Unwatched).To(Equal(want), "with the label %s", label)
	}
}
