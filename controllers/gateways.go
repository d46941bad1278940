package controllers

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes;grpcroutes;backendtlspolicies,verbs=get;list;watch;create;patch;delete

// config returns what the children of an Echo depend on. The cluster is asked again for what the Echo requires and the cluster did not serve.
func (r *EchoReconciler) config(ctx context.Context, echo *v1.Echo) (children.Config, error) {
	config, err := r.Dependencies.config(ctx, echo)
	known := r.Gateways.known(ctx)
	if err == nil && echo.DeletionTimestamp.IsZero() && lacks(echo, known) {
		known = r.Gateways.look(ctx)
	}
	config.Served = known.Served
	return config, err
}

// lacks reports whether an Echo requires something of Gateway API that the operator cannot use. Without Gateways, its URL is not known.
func lacks(echo *v1.Echo, known *gatewayCache) bool {
	return len(children.Unserved(echo, known.Served)) > 0 || children.HasGateway(echo) && known.Refused[children.GatewayKind] != ""
}

// observeGateways reads the Gateways of an Echo from the cache, and says what it requires of Gateway API and the operator cannot use.
func (r *EchoReconciler) observeGateways(ctx context.Context, echo *v1.Echo, config children.Config, seen *status.Observation) error {
	if !children.HasGateway(echo) {
		return nil
	}
	known := r.Gateways.known(ctx)
	seen.GatewaysUnknown = known.unknown != ""
	for _, kind := range children.Unserved(echo, config.Served) {
		seen.Unserved = append(seen.Unserved, status.Unserved{Kind: kind, Refused: cmp.Or(known.Refused[kind], known.unknown)})
	}
	if !config.Served[children.GatewayKind] || known.Reader == nil {
		seen.GatewaysRefused = known.Refused[children.GatewayKind]
		return nil
	}
	seen.Gateways = children.Gateways{}
	for _, parent := range echo.Spec.Gateway.ParentRefs {
		key := children.GatewayKey(echo, parent)
		gateway, err := find(ctx, known.Reader, key, &gatewayv1.Gateway{})
		if err != nil {
			return fmt.Errorf("reading the Gateway %s: %w", key, err)
		}
		if gateway != nil {
			seen.Gateways[key] = gateway
		}
	}
	return nil
}

// cacheOf returns the cache that holds children like one, nil if there is none any more.
func (r *EchoReconciler) cacheOf(ctx context.Context, c children.Child) client.Reader {
	if c.Optional {
		return r.Gateways.known(ctx).Reader
	}
	return r.Client
}
