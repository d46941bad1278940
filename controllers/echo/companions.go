package echo

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
	"github.com/echo-operator/echo-operator/internal/status"
)

// observeCompanions records why a pod has no companion. It uses a dry run, because the companion controller stores no data from which the
// status could be derived.
func (r *Reconciler) observeCompanions(ctx context.Context, echo *v1.Echo, seen *status.Observation) error {
	companion, missing, err := r.missingCompanion(ctx, echo, seen.Companions)
	if err != nil || !missing {
		return err
	}
	err = r.Client.Create(ctx, companion.Desired.DeepCopy(), client.DryRunAll, client.FieldOwner(children.FieldOwner))
	if err != nil && !apierrors.IsAlreadyExists(err) { // the cache may not hold the companion yet
		seen.CompanionError = &children.RequestError{Action: children.Creating, Kind: "Pod", Key: companion.Key, Err: err}
	}
	return nil
}

// missingCompanion returns a companion that should exist but does not.
func (r *Reconciler) missingCompanion(ctx context.Context, echo *v1.Echo,
	companions []corev1.Pod) (companion children.Child, missing bool, err error) {
	owners := &corev1.PodList{}
	err = r.Labeled.List(ctx, owners, client.InNamespace(echo.Namespace), client.MatchingLabels{v1.CompanionLabel: echo.Name})
	if err != nil {
		return companion, false, fmt.Errorf("listing the pods that request a companion: %w", err)
	}
	exists := map[string]bool{}
	for i := range companions {
		exists[companions[i].Name] = true
	}
	for i := range owners.Items {
		owner := &owners.Items[i]
		view := &echopod.CompanionState{Owner: owner, Echo: echo}
		if exists[view.Name()] {
			continue
		}
		if view.Node, err = controllers.Find(ctx, r.Client, client.ObjectKey{Name: owner.Spec.NodeName}, &corev1.Node{}); err != nil {
			return companion, false, err
		}
		plan, err := view.Plan(r.Config(), r.Policy, r.Now())
		if err != nil {
			return companion, false, err
		}
		if plan.Apply != nil {
			return *plan.Apply, true, nil
		}
	}
	return companion, false, nil
}

// echoOfOwner returns the Echo whose companion a pod requests.
func echoOfOwner(_ context.Context, pod client.Object) []reconcile.Request {
	return controllers.RequestsFor(pod.GetNamespace(), pod.GetLabels()[v1.CompanionLabel])
}
