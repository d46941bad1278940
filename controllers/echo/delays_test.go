package echo

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers/echo/queue"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestDelays(t *testing.T) {
	deleted := fakecluster.StoredEcho(func(e *v1.Echo) {
		e.Name, e.DeletionTimestamp = "going", &metav1.Time{Time: time.Unix(1000, 0)}
	})
	deployment := func(generation int64, updated int32) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status: appsv1.DeploymentStatus{ObservedGeneration: generation, Replicas: 2, UpdatedReplicas: updated, AvailableReplicas: 2}}
	}
	pod := func(phase corev1.PodPhase) *corev1.Pod { return &corev1.Pod{Status: corev1.PodStatus{Phase: phase}} }
	service, going := fakecluster.OwnedService(fakecluster.StoredEcho()), fakecluster.OwnedService(deleted)
	ended := deployment(2, 2)
	ended.OwnerReferences = going.OwnerReferences
	childDelay := reconciler(fakecluster.New(t, fakecluster.StoredEcho(), deleted)).childDelay
	for name, c := range map[string]struct {
		delay         queue.Delay
		before, after client.Object
		want          time.Duration
	}{
		"a step of a rollout":             {childDelay, deployment(2, 0), deployment(2, 1), queue.Gathered},
		"the end of a rollout":            {childDelay, deployment(2, 1), deployment(2, 2), 0},
		"a pod of the Deployment is lost": {childDelay, deployment(2, 2), deployment(2, 1), 0},
		"an edit of the Deployment":       {childDelay, deployment(2, 1), deployment(3, 1), 0},
		"the Deployment is gone":          {childDelay, deployment(2, 2), nil, 0},
		"a new Deployment":                {childDelay, nil, deployment(1, 0), 0},
		"another child changed":           {childDelay, service, service, 0},
		"another child is gone":           {childDelay, service, nil, 0},
		"a child of a deleted Echo":       {childDelay, going, going, queue.Gathered},
		"the end of such a child":         {childDelay, going, nil, queue.Gathered},
		"the Deployment of such an Echo":  {childDelay, ended, ended, queue.Gathered},
		"the end of that Deployment":      {childDelay, ended, nil, 0},
		"a new pod":                       {podDelay, nil, pod(corev1.PodPending), queue.Gathered},
		"a new pod that failed":           {podDelay, nil, pod(corev1.PodFailed), queue.Soon},
		"a pod runs":                      {podDelay, pod(corev1.PodPending), pod(corev1.PodRunning), queue.Gathered},
		"a pod fails":                     {podDelay, pod(corev1.PodRunning), pod(corev1.PodFailed), queue.Soon},
		"a pod that failed changes":       {podDelay, pod(corev1.PodFailed), pod(corev1.PodFailed), queue.Gathered},
		"a pod is gone":                   {podDelay, pod(corev1.PodRunning), nil, queue.Gathered},
		"a companion is gone":             {podDelay, fakecluster.CompanionPod(t), nil, queue.Soon},
		"a pod requests a companion":      {ownerDelay, nil, fakecluster.OwnerPod(), queue.ByCompanion},
	} {
		if got := c.delay(c.before, c.after); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
