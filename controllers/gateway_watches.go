package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// onGatewayChange returns a source of requests for when the cluster offers other kinds of Gateway API.
func (r *EchoReconciler) onGatewayChange() source.Source {
	r.Gateways.changes = make(chan event.TypedGenericEvent[struct{}], 1)
	return source.Channel(r.Gateways.changes, handler.TypedEnqueueRequestsFromMapFunc[struct{}, reconcile.Request](
		func(ctx context.Context, _ struct{}) []reconcile.Request { return r.echoesAfterGatewayChange(ctx) }))
}

// echoesAfterGatewayChange returns requests for all Echoes: one that no longer asks for routes may have some that nobody could see.
func (r *EchoReconciler) echoesAfterGatewayChange(ctx context.Context) []reconcile.Request {
	return r.requestsForAll(ctx, func(*v1.Echo) bool { return true })
}

// watchGateways returns a function that makes a controller watch what a cache holds of Gateway API. Objects that are there at the start are
// events, too: their Echoes may ask for them no longer.
func (r *EchoReconciler) watchGateways(c controller.Controller, ofOwner handler.EventHandler) func(cache.Cache, children.Served) error {
	return func(from cache.Cache, served children.Served) error {
		for name, kind := range children.OptionalKinds() {
			if !served[name] {
				continue
			}
			if err := c.Watch(source.Kind(from, kind, r.own.without(ofOwner, echoOfChild))); err != nil {
				return fmt.Errorf("watching %s: %w", name, err)
			}
		}
		if !served[children.GatewayKind] {
			return nil
		}
		return c.Watch(source.Kind[client.Object](from, &gatewayv1.Gateway{}, handler.EnqueueRequestsFromMapFunc(r.echoesBehind), gatewayChanged()))
	}
}

// gatewayChanged selects the updates of Gateways from which another URL may follow.
func gatewayChanged() predicate.Predicate {
	return updated(func(before, after *gatewayv1.Gateway) bool {
		return before.Generation != after.Generation || !equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
	})
}

// echoesBehind returns the Echoes that refer to a Gateway.
func (r *EchoReconciler) echoesBehind(ctx context.Context, gateway client.Object) []reconcile.Request {
	return r.requestsForAll(ctx, func(echo *v1.Echo) bool { return children.AttachesTo(echo, gateway) })
}

// requestsForAll returns the Echoes of which something is true.
func (r *EchoReconciler) requestsForAll(ctx context.Context, which func(*v1.Echo) bool) []reconcile.Request {
	var requests []reconcile.Request
	for _, echo := range r.echoes(ctx, which) {
		requests = append(requests, requestsFor(echo.Namespace, echo.Name)...)
	}
	return requests
}
