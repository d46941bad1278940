package echo

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/controllers/echo/queue"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
	"github.com/echo-operator/echo-operator/internal/status"
)

// childDelay returns the delay for a child event. An Echo that is being deleted waits for its Deployment, which is deleted last.
func (r *Reconciler) childDelay(before, after client.Object) time.Duration {
	old, isDeployment := before.(*appsv1.Deployment)
	d, exists := after.(*appsv1.Deployment)
	switch {
	case isDeployment && exists && status.IsRolloutStep(old, d):
		return queue.Gathered
	case before != nil && (exists || !isDeployment) && r.isBeingDeleted(echoOfChild(before)):
		return queue.Gathered
	default:
		return 0
	}
}

// isBeingDeleted reports whether the cache holds an Echo that is being deleted.
func (r *Reconciler) isBeingDeleted(echo types.NamespacedName) bool {
	found, err := controllers.Find(context.Background(), r.Client, echo, &v1.Echo{})
	return err == nil && found != nil && !found.DeletionTimestamp.IsZero()
}

// podDelay returns the delay for a pod event. Each pod event is delayed, because an Echo becomes ready only when its Deployment changes.
func podDelay(before, after client.Object) time.Duration {
	old, _ := before.(*corev1.Pod)
	pod, exists := after.(*corev1.Pod)
	switch {
	case exists && status.HasNewCause(old, pod):
		return queue.Soon
	case !exists && echopod.IsCompanion(before): // a deleted Echo may be waiting for this companion
		return queue.Soon
	default:
		return queue.Gathered
	}
}

// ownerDelay returns the delay for an event about a pod that requests a companion.
func ownerDelay(_, _ client.Object) time.Duration { return queue.ByCompanion }
