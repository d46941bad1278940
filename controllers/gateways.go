package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// GatewayAPI describes the Gateway API support that the cluster had when the operator started. It never changes.
type GatewayAPI struct {
	// Served holds the kinds that the operator can use.
	Served objects.Served
	// Refused holds, by kind, the reason why the operator cannot use a kind that the cluster may serve.
	Refused map[string]string
	// Unknown is true if the cluster did not report which Gateway API kinds it serves.
	Unknown bool
}

// observe reads an Echo's Gateways from the cache. It adds them to an observation, with the Gateway API kinds that the Echo requires but
// the operator cannot use.
func (a *GatewayAPI) observe(ctx context.Context, cached client.Reader, echo *v1.Echo, seen *status.Observation) error {
	if !objects.HasGateway(echo) {
		return nil
	}
	seen.GatewaysUnknown = a.Unknown
	for _, kind := range objects.Unserved(echo, a.Served) {
		seen.Unserved = append(seen.Unserved, status.Unserved{Kind: kind, Refused: a.Refused[kind]})
	}
	if !a.Served[objects.GatewayKind] {
		seen.GatewaysRefused = a.Refused[objects.GatewayKind]
		return nil
	}
	seen.Gateways = objects.Gateways{}
	for _, parent := range echo.Spec.Gateway.ParentRefs {
		key := objects.GatewayKey(echo, parent)
		gateway, err := find(ctx, cached, key, &gatewayv1.Gateway{})
		if err != nil {
			return fmt.Errorf("reading the Gateway %s: %w", key, err)
		}
		if gateway != nil {
			seen.Gateways[key] = gateway
		}
	}
	return nil
}

// isGatewayKindGone reports whether a child cannot be written because the cluster no longer serves its kind, or will soon stop serving it.
func isGatewayKindGone(c objects.Child, err error) bool {
	return c.Optional && c.Desired != nil && !status.IsDenied(err) && (apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err))
}
