package controllers

import (
	"cmp"
	"context"
	"errors"

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
	live, err := r.readAll(ctx, echo, wanted, &seen)
	if err != nil {
		return seen, err
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

// readAll returns the children as they exist, nil for those that do not. A name that is taken is an error, after all were read.
func (r *EchoReconciler) readAll(ctx context.Context, echo *v1.Echo, wanted []children.Child, seen *status.Observation) ([]client.Object, error) {
	live := make([]client.Object, len(wanted))
	var taken error
	for i, c := range wanted {
		var err error
		live[i], err = r.read(ctx, echo, c)
		switch {
		case errors.As(err, new(*children.NameConflictError)):
			taken = cmp.Or(taken, err)
		case err != nil:
			return nil, err
		}
		seen.See(live[i])
		seen.NoDeployment = seen.NoDeployment || c.RunsPods && live[i] == nil
	}
	return live, taken
}
