package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

type reconciler struct {
	client.Client
	recorder events.EventRecorder
	image    string
}

// Reconcile makes one pass over an Echo.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo := &v1.Echo{}
	if err := r.Get(ctx, request.NamespacedName, echo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	isNew := controllerutil.AddFinalizer(echo, v1.Finalizer)
	if isNew {
		if err := r.Update(ctx, echo); err != nil {
			return ctrl.Result{}, err
		}
	}
	wanted, err := children.Of(echo, children.Config{Images: children.Images{EchoServer: r.image}})
	if err != nil {
		return ctrl.Result{}, err
	}
	for _, child := range wanted {
		if child.Want == nil {
			continue
		}
		err := r.Apply(ctx, client.ApplyConfigurationFromUnstructured(child.Want), client.FieldOwner(children.FieldOwner), client.ForceOwnership)
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.writeStatus(ctx, echo); err != nil {
		return ctrl.Result{}, err
	}
	if isNew {
		r.recorder.Eventf(echo, nil, corev1.EventTypeNormal, "Created", "Create", "Created a Deployment of %d echo servers.", echo.Spec.Replicas)
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) writeStatus(ctx context.Context, echo *v1.Echo) error {
	before := echo.DeepCopy()
	echo.Status.ObservedGeneration = echo.Generation
	meta.SetStatusCondition(&echo.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "Progressing", ObservedGeneration: echo.Generation})
	return r.Status().Patch(ctx, echo, client.MergeFrom(before))
}
