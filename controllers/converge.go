package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// converge makes the children of an Echo as wanted. Everything is read before anything is written, so that an Echo that cannot be
// applied changes nothing.
func (r *EchoReconciler) converge(ctx context.Context, echo *v1.Echo) (status.Observation, error) {
	seen := status.Observation{}
	wanted, err := children.Of(echo, r.Images)
	if err != nil {
		return seen, err
	}
	if err := r.observe(ctx, echo, &seen); err != nil {
		return seen, err
	}
	live := make([]client.Object, len(wanted))
	for i, c := range wanted {
		if live[i], err = r.read(ctx, echo, c); err != nil {
			return seen, err
		}
		seen.See(live[i])
	}
	if err := r.Policy.Check(echo); err != nil || echo.Spec.Paused {
		return seen, err
	}
	if err := r.addFinalizer(ctx, echo); err != nil {
		return seen, err
	}
	for i, c := range wanted {
		if err := r.ensure(ctx, c, live[i], &seen); err != nil {
			return seen, err
		}
	}
	return seen, nil
}
