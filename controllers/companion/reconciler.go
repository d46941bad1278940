package companion

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
	"github.com/echo-operator/echo-operator/internal/status"
)

// Reconciler creates an echo server next to each pod that requests one. All fields are required.
type Reconciler struct {
	controllers.Dependencies
	// Labeled holds the pods that have a companion label.
	Labeled cache.Cache

	reported controllers.LastReports
	seen     lastSeen
	failures controllers.Failures
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete

// Reconcile brings a pod's companion to its desired state if the pod requests or has requested one.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	owner, next, err := r.reconcilePod(ctx, request)
	failure := r.failures.Tolerate(request.NamespacedName, status.Classify(err), r.Now())
	r.failures.End(request.NamespacedName, failure)
	r.Count(ctx, "companion", failure)
	if owner != nil && failure != nil && !failure.Silent() {
		refused := status.CompanionNotCreated(err)
		r.report(owner, request, &refused)
	}
	return controllers.Result(next, failure)
}

// reconcilePod brings a pod's companion to its desired state. It returns the pod, and the time until the next reconcile if no event
// arrives.
func (r *Reconciler) reconcilePod(ctx context.Context, request ctrl.Request) (*corev1.Pod, time.Duration, error) {
	view, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return nil, 0, err
	}
	config := r.Config()
	plan, err := view.Plan(config, r.Policy, r.Now())
	if err != nil {
		return nil, 0, err
	}
	if name := r.seen.hidden(request.NamespacedName, view, plan); name != "" {
		if plan, err = r.planLive(ctx, config, view, plan, client.ObjectKey{Namespace: request.Namespace, Name: name}); err != nil {
			return view.Owner, 0, err
		}
	}
	if err := r.carryOut(ctx, plan); err != nil {
		return view.Owner, 0, err
	}
	r.seen.record(request.NamespacedName, view, plan)
	r.report(view.Owner, request, newsOf(view, plan))
	return view.Owner, plan.Wait, nil
}

// observe returns the cached objects that determine the state of a pod's companion.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (*echopod.CompanionState, error) {
	view, companions := &echopod.CompanionState{}, &corev1.PodList{}
	err := r.Client.List(ctx, companions, client.InNamespace(key.Namespace), client.MatchingFields{controllers.ByOwner: key.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the companions: %w", err)
	}
	view.Companions = companions.Items
	if view.Owner, err = controllers.Find(ctx, r.Labeled, key, &corev1.Pod{}); err != nil || view.Owner == nil {
		return view, err
	}
	named := client.ObjectKey{Namespace: key.Namespace, Name: view.Owner.Labels[v1.CompanionLabel]}
	if view.Echo, err = controllers.Find(ctx, r.Client, named, &v1.Echo{}); err != nil {
		return view, err
	}
	view.Node, err = controllers.Find(ctx, r.Client, client.ObjectKey{Name: view.Owner.Spec.NodeName}, &corev1.Node{})
	return view, err
}

// planLive asks the API server for a companion that the cache does not hold, and returns the plan that includes this companion. The cache
// may lag, and lacks companions that lost their labels. A pod that was not created as this companion is left unchanged.
func (r *Reconciler) planLive(ctx context.Context, config children.Config, view *echopod.CompanionState,
	plan echopod.CompanionPlan, key client.ObjectKey) (echopod.CompanionPlan, error) {
	live, err := controllers.Find(ctx, r.Live, key, &corev1.Pod{})
	switch {
	case err != nil:
		return plan, fmt.Errorf("reading Pod %s: %w", key, err)
	case live == nil || plan.None && !echopod.IsCompanion(live):
		return plan, nil
	case !plan.None && !metav1.IsControlledBy(live, view.Owner):
		return plan, &children.NameConflictError{Kind: "Pod", Name: key.Name, For: "pod", Advice: "Delete it."}
	}
	view.Companions = append(view.Companions, *live)
	plan, err = view.Plan(config, r.Policy, r.Now())
	if plan.Apply == nil && !plan.None { // the cache does not hold the companion, so an event might never arrive
		plan.Wait = controllers.DeletionPeriod
	}
	return plan, err
}

func (r *Reconciler) carryOut(ctx context.Context, plan echopod.CompanionPlan) error {
	for _, c := range plan.Remove {
		if err := controllers.DeleteCompanion(ctx, r.Client, c); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted a companion.", "companion", c.Name)
	}
	if plan.Apply == nil {
		return nil
	}
	var existing client.Object
	if plan.Existing != nil {
		existing = plan.Existing
	}
	if _, err := controllers.Apply(ctx, r.Client, *plan.Apply, existing); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Applied a companion.", "companion", plan.Apply.Key.Name)
	return nil
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *Reconciler) Memories() []func() {
	return []func(){r.failures.Clear, r.reported.Clear, r.seen.Clear}
}
