package controllers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

const (
	// deletionPeriod is how long the operator waits for deletion events before it first checks whether the objects are gone.
	deletionPeriod = 2 * time.Second
	// longestDeletionPeriod is the longest wait before the operator checks again whether a deleted Echo's pods are gone. The wait grows,
	// because the deletion of thousands of Echoes takes many minutes.
	longestDeletionPeriod = 30 * time.Second
)

// orphanedAfter is how long an Echo waits for pods of a Deployment that was deleted with --cascade=orphan. If the pods are not orphaned,
// the garbage collector starts to delete them within this time.
const orphanedAfter = time.Minute

// reconcileDelete deletes the objects created for an Echo, and releases the Echo when its last pod is gone.
func (r *EchoReconciler) reconcileDelete(ctx context.Context, echo *v1.Echo) (time.Duration, *status.Failure) {
	if !controllerutil.ContainsFinalizer(echo, v1.Finalizer) {
		return 0, nil
	}
	if slices.Contains(echo.Finalizers, metav1.FinalizerOrphanDependents) {
		return 0, r.classify(echo, r.release(ctx, echo, true))
	}
	seen := status.Observation{}
	left, err := r.leftoversOf(ctx, echo)
	if err == nil {
		seen = status.Observation{Pods: left.pods}
		for _, object := range left.objects {
			seen.Record(object)
		}
		if len(left.pods)+len(left.companions) == 0 {
			seen.Held = left.held
		}
		seen.NoDeployment = seen.Deployment == nil && !left.orphaned
		err = r.deleteRemaining(ctx, left)
	}
	failure := r.classify(echo, err)
	var unwritten error
	if failure != nil || left.any() { // otherwise, the Echo is about to be removed
		unwritten = r.publish(ctx, echo, status.EvaluateDeletion(echo, seen, failure, r.Now()))
	}
	switch { // a failed status write must not block the deletion of an Echo
	case failure != nil:
		return 0, failure
	case left.any():
		return nextDeletionCheck(r.Now().Sub(echo.DeletionTimestamp.Time)), r.classify(echo, unwritten)
	default:
		return 0, r.classify(echo, r.release(ctx, echo, left.orphaned))
	}
}

// nextDeletionCheck returns the delay before the next reconcile, based on how long an Echo's deletion has taken.
func nextDeletionCheck(elapsed time.Duration) time.Duration {
	const share = 4 // the delay is a quarter of the elapsed time
	return min(max(elapsed/share, deletionPeriod), longestDeletionPeriod)
}

// release removes only the operator's finalizer from an Echo. keptPods is true if the Echo's pods may still be running.
func (r *EchoReconciler) release(ctx context.Context, echo *v1.Echo, keptPods bool) error {
	others := slices.DeleteFunc(slices.Clone(echo.Finalizers), func(finalizer string) bool { return finalizer == v1.Finalizer })
	if err := r.echoWriter(echo).setFinalizers(ctx, echo, others); err != nil {
		return err
	}
	r.expectations.forget(client.ObjectKeyFromObject(echo))
	log.FromContext(ctx).Info("Released the Echo", "keptPods", keptPods)
	return nil
}

// deleteRemaining deletes an Echo's leftovers. The Echo's pods are deleted with their Deployment.
func (r *EchoReconciler) deleteRemaining(ctx context.Context, left leftovers) error {
	for _, object := range left.objects {
		err := deleteChild(ctx, r.Client, object, metav1.DeletePropagationForeground)
		if client.IgnoreNotFound(err) != nil { // if the object was not found, the next reconcile checks again whether it exists
			return err
		}
	}
	for _, companion := range left.companions {
		if err := deleteCompanion(ctx, r.Client, companion); err != nil {
			return err
		}
	}
	return nil
}

// leftovers holds the remaining objects of an Echo that is being deleted.
type leftovers struct {
	objects          []client.Object
	pods, companions []*objects.Pod
	// orphaned is true if the Deployment was orphaned. The Deployment's pods are then kept, and the pods field omits them.
	orphaned bool
	// held is the first object that another controller's finalizer keeps.
	held *status.Held
}

func (l leftovers) any() bool { return len(l.objects)+len(l.pods)+len(l.companions) > 0 }

// leftoversOf returns the remaining objects of an Echo. If the cache holds any of these objects, leftoversOf relies on the cache.
// Otherwise, it asks the API server, because the cache may lack objects that were just created or lost their labels. If only pods remain,
// none of them is being deleted, and the Echo's deletion began more than orphanedAfter ago, the pods are kept.
func (r *EchoReconciler) leftoversOf(ctx context.Context, echo *v1.Echo) (leftovers, error) {
	desired, err := objects.Desired(echo, r.childConfig())
	if err != nil {
		return leftovers{}, err
	}
	left, err := leftoversIn(ctx, r.Client, echo, desired, readControlled, cachedPodsOf(echo))
	if err == nil && len(left.objects) == 0 && len(left.pods) > 0 { // the pods may belong to an orphaned Deployment
		left, err = leftoversIn(ctx, r.Client, echo, desired, r.readOwned, cachedPodsOf(echo))
	}
	if err == nil && !left.any() {
		left, err = leftoversIn(ctx, r.Live, echo, desired, readLive, client.MatchingLabels(objects.InstanceLabels(echo)))
	}
	isDeleted := func(pod *objects.Pod) bool { return pod.Deleted }
	onlyKeptPods := len(left.objects)+len(left.companions) == 0 && len(left.pods) > 0 && !slices.ContainsFunc(left.pods, isDeleted)
	if onlyKeptPods && r.Now().Sub(echo.DeletionTimestamp.Time) > orphanedAfter {
		left.pods, left.orphaned = nil, true
	}
	return left, err
}

// leftoversIn reads an Echo's remaining objects from reader, the cache or the API server. If an object with a child's name does not belong to
// the Echo, the child was orphaned or never existed. Only the API server knows whether the Deployment was orphaned. Pods may outlast the
// Deployment if another client deleted the Deployment with background propagation.
func leftoversIn(ctx context.Context, reader client.Reader, echo *v1.Echo, desired []objects.Child, read childReader,
	which client.ListOption) (leftovers, error) {
	left := leftovers{}
	for _, c := range desired {
		object, err := read(ctx, reader, echo, c)
		switch {
		case errors.As(err, new(*objects.NameConflictError)):
			left.orphaned = left.orphaned || c.Kind == "Deployment"
		case err != nil:
			return left, err
		case object != nil:
			left.objects = append(left.objects, object)
			left.held = cmp.Or(left.held, status.HeldBy(c.Kind, object))
		}
	}
	var err error
	if left.pods, left.companions, err = listPods(ctx, reader, echo, which); left.orphaned {
		left.pods = nil
	}
	return left, err
}
