package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// CompanionReconciler puts an echo server beside each pod that asks for one. All fields are required.
type CompanionReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Labelled is the cache that LabelledPods makes.
	Labelled cache.Cache
	// Recorder takes the events.
	Recorder events.EventRecorder
	// Images are the images that the operator knows by itself.
	Images Images
	// MaxReplicas is the number of replicas above which an Echo is refused.
	MaxReplicas int32
	// Now is the clock.
	Now func() time.Time

	told memory
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete

// SetupWithManager has the manager run the reconciler.
func (r *CompanionReconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, byOwner, ownerOfCompanion)
	if err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("companion").
		WithOptions(controllerOptions())
	return r.watch(b).Complete(r)
}

// Reconcile is one pass over a pod that asks for a companion, or did.
func (r *CompanionReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	view, err := r.look(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan, err := view.plan(r.Images, r.MaxReplicas, r.Now())
	if err != nil {
		return ctrl.Result{}, err
	}
	if plan.make != nil && plan.there == nil {
		if plan, err = r.lookTwice(ctx, view, plan); err != nil {
			return r.refused(view.owner, request, err)
		}
	}
	if err := r.carryOut(ctx, plan); err != nil {
		return r.refused(view.owner, request, err)
	}
	r.tell(view.owner, request, plan.news)
	return ctrl.Result{RequeueAfter: plan.wait}, nil
}

// look reads what decides about a pod's companion, from the caches.
func (r *CompanionReconciler) look(ctx context.Context, key client.ObjectKey) (*companionView, error) {
	view, companions := &companionView{}, &corev1.PodList{}
	err := r.Client.List(ctx, companions, client.InNamespace(key.Namespace), client.MatchingFields{byOwner: key.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the companions: %w", err)
	}
	view.companions = companions.Items
	if view.owner, err = found(ctx, r.Labelled, key, &corev1.Pod{}); err != nil || view.owner == nil {
		return view, err
	}
	named := client.ObjectKey{Namespace: key.Namespace, Name: view.owner.Labels[v1.CompanionLabel]}
	if view.echo, err = found(ctx, r.Client, named, &v1.Echo{}); err != nil {
		return view, err
	}
	view.node, err = found(ctx, r.Client, client.ObjectKey{Name: view.owner.Spec.NodeName}, &corev1.Node{})
	return view, err
}

// found reads an object, nil if there is none.
func found[T client.Object](ctx context.Context, reader client.Reader, key client.ObjectKey, object T) (T, error) {
	var none T
	if key.Name == "" {
		return none, nil
	}
	if err := reader.Get(ctx, key, object); err != nil {
		return none, client.IgnoreNotFound(err)
	}
	return object, nil
}

// lookTwice checks on the API server that a companion is missing before it is made: the cache may lag, does not hold one that lost
// its labels, and another's pod must not be taken over.
func (r *CompanionReconciler) lookTwice(ctx context.Context, view *companionView, plan companionPlan) (companionPlan, error) {
	live, err := fetch(ctx, r.Live, *plan.make)
	if err != nil || live == nil {
		return plan, err
	}
	if !metav1.IsControlledBy(live, view.owner) {
		return plan, &companionConflictError{live.GetName()}
	}
	view.companions = append(view.companions, *live.(*corev1.Pod))
	plan, err = view.plan(r.Images, r.MaxReplicas, r.Now())
	if plan.make == nil { // the cache does not hold it, so nothing may wake the operator
		plan.wait = deletionPeriod
	}
	return plan, err
}

// companionConflictError is a pod that has the name of a companion and belongs to somebody else.
type companionConflictError struct{ name string }

func (e *companionConflictError) Error() string {
	return fmt.Sprintf("The pod %q has the name of the companion, was not made as one and is left alone. Delete it.", e.name)
}

// carryOut does what is planned.
func (r *CompanionReconciler) carryOut(ctx context.Context, plan companionPlan) error {
	for _, c := range plan.remove {
		if err := deleteCompanion(ctx, r.Client, c); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Removed a companion.", "companion", c.Name)
	}
	if plan.make == nil {
		return nil
	}
	var there client.Object
	if plan.there != nil {
		there = plan.there
	}
	if _, err := apply(ctx, r.Client, *plan.make, there); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Made a companion.", "companion", plan.make.key.Name)
	return nil
}

// refused tells a pod's owner why there is no companion, and has the pass tried again.
func (r *CompanionReconciler) refused(owner *corev1.Pod, request ctrl.Request, err error) (ctrl.Result, error) {
	failed := classify(err)
	if failed.silent() {
		return failed.result()
	}
	r.tell(owner, request, &transition{corev1.EventTypeWarning, "CompanionRefused", "MakeCompanion", err.Error()})
	return failed.result()
}

// tell records what became of a pod's companion, if that is not what was told last.
func (r *CompanionReconciler) tell(owner *corev1.Pod, request ctrl.Request, news *transition) {
	said := ""
	if owner != nil && news != nil {
		said = string(owner.UID) + "/" + owner.Labels[v1.CompanionLabel] + "/" + news.reason
	}
	if r.told.changes(request.NamespacedName, said) && said != "" {
		r.Recorder.Eventf(owner, nil, news.eventType, news.reason, news.action, "%s", cut(news.note, maxNote))
	}
}

// deleteCompanion deletes a companion, and no other pod of its name. It is a no-op on one that is going.
func deleteCompanion(ctx context.Context, writer client.Writer, pod *corev1.Pod) error {
	if !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	err := writer.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // a conflict: that pod is gone
		return fmt.Errorf("deleting the companion %s: %w", pod.Name, err)
	}
	return nil
}
