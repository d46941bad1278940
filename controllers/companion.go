package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// CompanionReconciler creates an echo server next to each pod whose label requests one. All fields are required.
type CompanionReconciler struct {
	Dependencies
	// Labeled holds the pods that have a companion label.
	Labeled cache.Cache

	reported lastReports
	failures failures
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete

// Reconcile brings a pod's companion to its desired state if the pod requests or has requested one.
func (r *CompanionReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	view, plan, err := r.reconcilePod(ctx, request.NamespacedName)
	failure := r.failures.tolerate(request.NamespacedName, status.Classify(err), r.Now())
	switch {
	case failure == nil && plan.EchoMissing:
		r.report(request, view, new(status.EchoNotFound(view.Owner.Echo)))
	case failure == nil:
		r.report(request, view, nil)
	case view.Owner != nil && !failure.Silent():
		r.report(request, view, new(status.CompanionNotCreated(err)))
	}
	return r.finish(ctx, "companion", &r.failures, request.NamespacedName, plan.Wait, failure)
}

// reconcilePod brings a pod's companion to its desired state. It returns what it observed and did.
func (r *CompanionReconciler) reconcilePod(ctx context.Context, pod client.ObjectKey) (
	*objects.CompanionState, objects.CompanionPlan, error) {
	view, err := r.observe(ctx, pod)
	if err != nil {
		return view, objects.CompanionPlan{}, err
	}
	plan, err := view.Plan(r.config(), r.Policy, r.Now())
	if err != nil {
		return view, plan, err
	}
	err = r.carryOut(ctx, plan)
	if plan.Apply != nil && plan.Existing == nil && apierrors.IsConflict(err) {
		plan, err = r.correctUncached(ctx, view, *plan.Apply, err)
	}
	return view, plan, err
}

// observe returns the cached objects that determine the state of a pod's companion.
func (r *CompanionReconciler) observe(ctx context.Context, key client.ObjectKey) (*objects.CompanionState, error) {
	companions, err := podsIn(ctx, r.Client, objects.PodOf, client.InNamespace(key.Namespace), client.MatchingFields{byOwner: key.Name})
	view := &objects.CompanionState{Companions: companions}
	if err != nil {
		return view, fmt.Errorf("listing the companions: %w", err)
	}
	owner, err := find(ctx, r.Labeled, key, &corev1.Pod{})
	if err != nil || owner == nil {
		return view, err
	}
	view.Owner = objects.LabeledPodOf(owner)
	named := client.ObjectKey{Namespace: key.Namespace, Name: view.Owner.Echo}
	if view.Echo, err = find(ctx, r.Client, named, &v1.Echo{}); err != nil {
		return view, err
	}
	view.Node, err = find(ctx, r.Client, client.ObjectKey{Name: view.Owner.NodeName}, &corev1.Node{})
	return view, err
}

func (r *CompanionReconciler) carryOut(ctx context.Context, plan objects.CompanionPlan) error {
	for _, c := range plan.Remove {
		if err := deleteCompanion(ctx, r.Client, c); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted a companion.", "companion", c.Name)
	}
	if plan.Apply == nil {
		return nil
	}
	var existing client.Object
	if plan.Existing != nil {
		existing = plan.Existing.Object()
	}
	if _, err := applyChild(ctx, r.Client, *plan.Apply, existing); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Applied a companion.", "companion", plan.Apply.Key.Name)
	return nil
}

// correctUncached corrects an existing companion that the cache does not hold, because the cache lags or the companion lost its labels.
// conflict is the error with which the API server refused to create the companion.
func (r *CompanionReconciler) correctUncached(ctx context.Context, view *objects.CompanionState, desired objects.Child,
	conflict error) (plan objects.CompanionPlan, err error) {
	live, err := find(ctx, r.Live, desired.Key, &corev1.Pod{})
	switch {
	case err != nil:
		return plan, fmt.Errorf("reading Pod %s: %w", desired.Key, err)
	case live == nil:
		return plan, conflict
	case !metav1.IsControlledBy(live, view.Owner.Object()):
		return plan, &objects.NameConflictError{Kind: "Pod", Name: live.Name, For: "pod", Advice: "Delete it."}
	}
	view.Companions = append(view.Companions, objects.PodOf(live))
	if plan, err = view.Plan(r.config(), r.Policy, r.Now()); err != nil {
		return plan, err
	}
	if plan.Apply == nil {
		plan.Wait = deletionPeriod // there may be no event
	}
	return plan, r.carryOut(ctx, plan)
}

// report counts a pod's companions, and sends an event about them, unless the event would repeat the last one. The event is about the pod and, because the
// owner of the pod may not be the owner of the Echo, also about the Echo. If news is nil, report forgets the last event.
func (r *CompanionReconciler) report(request ctrl.Request, view *objects.CompanionState, news *status.Transition) {
	said, reason := "", ""
	if news != nil {
		reason = news.Reason.String()
		said = string(view.Owner.UID) + "/" + view.Owner.Echo + "/" + reason
	}
	running := slices.DeleteFunc(slices.Clone(view.Companions), func(c *objects.Pod) bool { return c.Deleted || c.HasEnded() })
	r.Metrics.Companions.Reported(request.NamespacedName, len(running), reason)
	if !r.reported.replace(request.NamespacedName, said) || said == "" {
		return
	}
	r.sendEvent(view.Owner.Object(), *news)
	if view.Echo != nil {
		news.Related = view.Owner.Object()
		r.sendEvent(view.Echo, *news)
	}
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *CompanionReconciler) Memories() []func() {
	return []func(){r.failures.clear, r.reported.clear}
}

// SetupWithManager registers the reconciler with a manager. A pod is reconciled when the pod, its companion, its Echo, or its node changes.
func (r *CompanionReconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := r.Labeled.IndexField(context.Background(), &corev1.Pod{}, byNode, nodeOfPod); err != nil {
		return err
	}
	podsNaming := func(ctx context.Context, echo client.Object) []reconcile.Request {
		return r.labeledPods(ctx, client.InNamespace(echo.GetNamespace()), client.MatchingLabels{v1.CompanionLabel: echo.GetName()})
	}
	podsOnNode := func(ctx context.Context, node client.Object) []reconcile.Request {
		return r.labeledPods(ctx, client.MatchingFields{byNode: node.GetName()})
	}
	return newController(mgr, "companion").
		WatchesRawSource(source.Kind(r.Labeled, &corev1.Pod{}, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{}, cachedFieldChanged())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(podOfCompanion), builder.WithPredicates(companionChanged())).
		Watches(&v1.Echo{}, handler.EnqueueRequestsFromMapFunc(podsNaming), builder.WithPredicates(echoChanged())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(podsOnNode), builder.WithPredicates(schedulabilityChanged())).
		Complete(r.Traces.Reconciler("companion", r))
}

func podOfCompanion(_ context.Context, pod client.Object) []reconcile.Request {
	return requestsFor(pod.GetNamespace(), objects.CompanionOwner(pod))
}

// labeledPods returns the pods that request a companion and match the options.
func (r *CompanionReconciler) labeledPods(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	pods, _ := podsIn(ctx, r.Labeled, objects.LabeledPodOf, which...) // fails only if the process is stopping
	var requests []reconcile.Request
	for _, pod := range pods {
		requests = append(requests, requestsFor(pod.Namespace, pod.Name)...)
	}
	return requests
}

func cachedFieldChanged() predicate.TypedPredicate[*corev1.Pod] {
	return predicate.TypedFuncs[*corev1.Pod]{UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool {
		before, after := e.ObjectOld.DeepCopy(), e.ObjectNew.DeepCopy()
		before.ResourceVersion, after.ResourceVersion = "", ""
		return !equality.Semantic.DeepEqual(before, after)
	}}
}

func companionChanged() predicate.Predicate {
	return podUpdated(func(before, after *objects.Pod) bool {
		return status.PodState(before) != status.PodState(after) || before.CompanionOf != after.CompanionOf ||
			!maps.Equal(before.Labels, after.Labels) || before.AppliedHash != after.AppliedHash
	})
}

// schedulabilityChanged selects the updates after which a node starts or stops accepting pods.
func schedulabilityChanged() predicate.Predicate {
	return updated(func(before, after *corev1.Node) bool {
		return objects.AcceptsPods(before) != objects.AcceptsPods(after)
	})
}
