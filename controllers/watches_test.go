package controllers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestCachedFieldChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"another version": {func(p *corev1.Pod) { p.ResourceVersion = "2" }, false},
		"scheduled":       {func(p *corev1.Pod) { p.Spec.NodeName = "other" }, true},
		"finished":        {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true},
		"deleted":         {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"another Echo":    {func(p *corev1.Pod) { p.Labels = map[string]string{"echoes.example.com/companion": "y"} }, true},
	} {
		got := cachedFieldChanged().Update(event.TypedUpdateEvent[*corev1.Pod]{ObjectOld: OwnerPod(),
			ObjectNew: OwnerPod(c.change)})
		NewWithT(t).Expect(got).To(Equal(c.want), name)
	}
}

func TestCompanionChanged(t *testing.T) {
	orphaned := CompanionPod(t)
	orphaned.OwnerReferences = nil
	Updates{
		"another version": {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.ResourceVersion = "2" }), false},
		"an address":      {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }), false},
		"failed":          {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), true},
		"a label":         {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.Labels["x"] = "y" }), true},
		"its digest": {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.Annotations = map[string]string{v1.AppliedHashAnnotation: "h"} }),
			true},
		"its deletion began": {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }),
			true},
		"a readiness condition": {OwnerPod(), OwnerPod(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: "True"}}
		}), true},
		"its owner is removed": {CompanionPod(t), orphaned, true},
	}.Check(t, companionChanged())
}

func TestSchedulabilityChanged(t *testing.T) {
	node := func(unschedulable bool, message string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Message: message}}}}
	}
	Updates{
		"a heartbeat": {node(false, "a"), node(false, "b"), false},
		"cordoned":    {node(false, "a"), node(true, "a"), true},
		"uncordoned":  {node(true, "a"), node(false, "a"), true},
	}.Check(t, schedulabilityChanged())
}

func TestPodOfCompanion(t *testing.T) {
	g := NewWithT(t)
	want := []reconcile.Request{{Namespace: "ns", Name: "web-0"}}
	g.Expect(podOfCompanion(context.Background(), CompanionPod(t))).To(BeComparableTo(want))
	g.Expect(podOfCompanion(context.Background(), OwnerPod())).To(BeNil())
}

func TestPodUpdated(t *testing.T) {
	pod := func(phase corev1.PodPhase, address string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: phase, PodIP: address}}
	}
	Updates{
		"an address": {pod(corev1.PodRunning, ""), pod(corev1.PodRunning, "10.0.0.1"), false},
		"failed":     {pod(corev1.PodRunning, ""), pod(corev1.PodFailed, ""), true},
	}.Check(t, podUpdated(status.PodDiffers))
}

func TestNodeChanged(t *testing.T) {
	node := func(unschedulable bool, ready corev1.ConditionStatus, message string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: message, LastHeartbeatTime: metav1.Now()}}}}
	}
	Updates{
		"a heartbeat":     {node(false, "True", ""), node(false, "True", ""), false},
		"another message": {node(false, "Unknown", "a"), node(false, "Unknown", "b"), false},
		"lost":            {node(false, "True", ""), node(false, "Unknown", ""), true},
		"back":            {node(false, "Unknown", ""), node(false, "True", ""), true},
		"cordoned":        {node(false, "True", ""), node(true, "True", ""), true},
	}.Check(t, nodeChanged())
}

func TestEchoOfPod(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{Namespace: "ns", Name: "x-1",
		Labels: map[string]string{"app.kubernetes.io/instance": "x"}}
	want := []reconcile.Request{{Namespace: "ns", Name: "x"}}
	g.Expect(echoOfPod(context.Background(), pod)).To(BeComparableTo(want))
	pod.Labels = nil
	g.Expect(echoOfPod(context.Background(), pod)).To(BeEmpty())
}

func TestEchoEvents(t *testing.T) {
	type change = func(*v1.Echo)
	updated := func(c change) func(*echoEvents, workQueue) {
		return func(h *echoEvents, q workQueue) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: StoredEcho(), ObjectNew: StoredEcho(c)}, q)
		}
	}
	created := func(initial bool) func(*echoEvents, workQueue) {
		return func(h *echoEvents, q workQueue) {
			h.Create(t.Context(), event.CreateEvent{Object: StoredEcho(), IsInInitialList: initial}, q)
		}
	}
	for name, c := range map[string]struct {
		happens func(*echoEvents, workQueue)
		changes int
		ready   int // Echoes in the queue that do not wait
	}{
		"created":            {created(false), 1, 1},
		"there at the start": {created(true), 0, 1},
		"spec changed":       {updated(func(e *v1.Echo) { e.Generation++ }), 1, 1},
		"recreated":          {updated(func(e *v1.Echo) { e.UID, e.Status.Phase = "new", "x" }), 0, 1},
		"metadata changed":   {updated(func(e *v1.Echo) { e.Labels = map[string]string{"a": "b"} }), 0, 1},
		"status changed":     {updated(func(e *v1.Echo) { e.Status.Phase = "x" }), 0, 0},
		"all changed":        {updated(func(e *v1.Echo) { e.Generation++; e.Status.Phase = "x" }), 1, 1},
		"being deleted":      {updated(func(e *v1.Echo) { e.Generation++; e.DeletionTimestamp = new(metav1.Now()) }), 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			changes, q := 0, priorityqueue.New[reconcile.Request]("")
			defer q.ShutDown()
			c.happens(&echoEvents{changed: func(client.Object) { changes++ }, delay: gatherPeriod}, q)
			synctest.Wait()
			NewWithT(t).Expect(changes).To(Equal(c.changes), name)
			NewWithT(t).Expect(q.Len()).To(Equal(c.ready), name)
			<-time.NewTimer(gatherPeriod).C
			synctest.Wait()
			NewWithT(t).Expect(q.Len()).To(Equal(1), name)
		})
	}
}

// TestEchoEvents_neverHastensRetry updates only messages in the status of an Echo whose reconcile has failed, and then the URL.
func TestEchoEvents_neverHastensRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, request := priorityqueue.New[reconcile.Request](""), requestForEcho()
		defer q.ShutDown()
		q.AddRateLimited(request)
		_, _ = q.Get()
		q.Done(request)
		with := func(message string) *v1.Echo {
			return StoredEcho(func(e *v1.Echo) {
				e.Status.Message, e.Status.Conditions = message, []metav1.Condition{{Message: message}}
				e.Status.Checks = []v1.EchoCheckStatus{{Message: message}}
			})
		}
		(&echoEvents{}).Update(t.Context(), event.UpdateEvent{ObjectOld: with("a"), ObjectNew: with("b")}, q)
		<-time.NewTimer(gatherPeriod).C
		synctest.Wait()
		NewWithT(t).Expect(q.Len()).To(BeZero())
		exposed := StoredEcho(func(e *v1.Echo) { e.Status.ExternalURL = "https://x" })
		(&echoEvents{}).Update(t.Context(), event.UpdateEvent{ObjectOld: StoredEcho(), ObjectNew: exposed}, q)
		synctest.Wait()
		NewWithT(t).Expect(q.Len()).To(Equal(1))
	})
}

func TestAffectsOnlyCounts(t *testing.T) {
	deployment := func(generation int64, updated int32) *appsv1.Deployment {
		return &appsv1.Deployment{Generation: generation, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status: appsv1.DeploymentStatus{ObservedGeneration: generation, Replicas: 2, UpdatedReplicas: updated, AvailableReplicas: 2}}
	}
	pod := func(phase corev1.PodPhase) *corev1.Pod { return &corev1.Pod{Status: corev1.PodStatus{Phase: phase}} }
	service := OwnedService(StoredEcho())
	for name, c := range map[string]struct {
		before, after client.Object
		want          bool
	}{
		"a step of a rollout":       {deployment(2, 0), deployment(2, 1), true},
		"the Deployment is gone":    {deployment(2, 2), nil, false},
		"a new Deployment":          {nil, deployment(1, 0), false},
		"another child changed":     {service, service, false},
		"another child is gone":     {service, nil, false},
		"a new pod":                 {nil, pod(corev1.PodPending), true},
		"a new pod that failed":     {nil, pod(corev1.PodFailed), false},
		"a pod runs":                {pod(corev1.PodPending), pod(corev1.PodRunning), true},
		"a pod fails":               {pod(corev1.PodRunning), pod(corev1.PodFailed), false},
		"a pod that failed changes": {pod(corev1.PodFailed), pod(corev1.PodFailed), true},
		"a pod is gone":             {pod(corev1.PodRunning), nil, true},
	} {
		NewWithT(t).Expect(affectsOnlyCounts(c.before, c.after)).To(Equal(c.want), name)
	}
}

func TestGathered_delaysOnlyCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := priorityqueue.New[reconcile.Request]("")
		defer q.ShutDown()
		h := gathered(echoOfPod)
		h.Create(t.Context(), event.CreateEvent{Object: EchoPod()}, q)
		synctest.Wait()
		g.Expect(q.Len()).To(BeZero())
		<-time.NewTimer(gatherPeriod).C
		synctest.Wait()
		g.Expect(q.Len()).To(Equal(1))
		failed := EchoPod()
		failed.Name, failed.Labels["app.kubernetes.io/instance"], failed.Status.Phase = "y-1", "y", corev1.PodFailed
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: failed, ObjectNew: failed}, q) // no news
		h.Create(t.Context(), event.CreateEvent{Object: failed}, q)
		synctest.Wait()
		g.Expect(q.Len()).To(Equal(2))
	})
}

func TestNodeOfPod(t *testing.T) {
	if got := nodeOfPod(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}); len(got) != 1 || got[0] != "n" {
		t.Errorf("got %v", got)
	}
	NewWithT(t).Expect(nodeOfPod(&corev1.Pod{})).To(BeNil())
}

func TestEchoChanged(t *testing.T) {
	Updates{
		"its status": {StoredEcho(), StoredEcho(func(e *v1.Echo) { e.Status.Phase = v1.PhaseReady }), false},
		"a label":    {StoredEcho(), StoredEcho(func(e *v1.Echo) { e.Labels = map[string]string{"a": "b"} }), false},
		"its spec":   {StoredEcho(), StoredEcho(func(e *v1.Echo) { e.Generation++ }), true},
		"finalizers": {StoredEcho(), StoredEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} }),
			true},
	}.Check(t, echoChanged())
}

func TestSinceStart_ignoresExistingObjects(t *testing.T) {
	selected := sinceStart()
	NewWithT(t).Expect(selected.Create(event.CreateEvent{Object: &corev1.Pod{}, IsInInitialList: true})).To(BeFalse(), "it is selected")
	if !selected.Create(event.CreateEvent{Object: &corev1.Pod{}}) || !selected.Update(event.UpdateEvent{}) ||
		!selected.Delete(event.DeleteEvent{}) {
		t.Error("an event after the start is dropped")
	}
}
