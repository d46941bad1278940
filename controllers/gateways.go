package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes;grpcroutes;backendtlspolicies,verbs=get;list;watch;create;patch;delete

// GatewayAPI is what the cluster offered of Gateway API when the operator started. It is not changed once it is made.
type GatewayAPI struct {
	// Served are the kinds that the operator can use.
	Served children.Served
	// Refused says, by kind, why the operator cannot use one that the cluster may serve.
	Refused map[string]string
	// Unknown is true if the cluster gave no answer.
	Unknown bool
}

// config returns what the children of Echoes depend on.
func (r *EchoReconciler) config() children.Config {
	config := r.Dependencies.config()
	config.Served = r.Gateways.Served
	return config
}

// observeGateways reads the Gateways of an Echo from the cache, and says what it requires of Gateway API and the operator cannot use.
func (r *EchoReconciler) observeGateways(ctx context.Context, echo *v1.Echo, seen *status.Observation) error {
	if !children.HasGateway(echo) {
		return nil
	}
	seen.GatewaysUnknown = r.Gateways.Unknown
	for _, kind := range children.Unserved(echo, r.Gateways.Served) {
		seen.Unserved = append(seen.Unserved, status.Unserved{Kind: kind, Refused: r.Gateways.Refused[kind]})
	}
	if !r.Gateways.Served[children.GatewayKind] {
		seen.GatewaysRefused = r.Gateways.Refused[children.GatewayKind]
		return nil
	}
	seen.Gateways = children.Gateways{}
	for _, parent := range echo.Spec.Gateway.ParentRefs {
		key := children.GatewayKey(echo, parent)
		gateway, err := find(ctx, r.Client, key, &gatewayv1.Gateway{})
		if err != nil {
			return fmt.Errorf("reading the Gateway %s: %w", key, err)
		}
		if gateway != nil {
			seen.Gateways[key] = gateway
		}
	}
	return nil
}

// isGone reports whether a child cannot be written because the cluster no longer serves its kind, or is about to.
func isGone(c children.Child, err error) bool {
	return c.Optional && c.Want != nil && (apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err))
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
