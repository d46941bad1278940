package echo

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// asCompared reports whether nothing has changed since the children of an Echo were found to be as wanted. If so, it adds them to what the
// pass saw.
func (r *Reconciler) asCompared(ctx context.Context, echo *v1.Echo, config children.Config, seen *status.Observation) (bool, error) {
	if !controllerutil.ContainsFinalizer(echo, v1.Finalizer) {
		return false, nil
	}
	kinds := children.Unbuilt(echo, config.Served)
	found := make([]client.Object, len(kinds))
	for i, c := range kinds {
		var err error
		if found[i], err = r.readCached(ctx, echo, c); err != nil {
			return false, err
		}
	}
	if !r.compared.Holds(echo, config, found) {
		return false, nil
	}
	for i, c := range kinds {
		if found[i] != nil {
			seen.See(found[i])
			seen.Keep(c.Kind, found[i])
		}
	}
	return true, nil
}

// asWanted reports whether all children were found to be as wanted, those that are not wanted gone.
func asWanted(wanted []children.Child, live []client.Object, seen *status.Observation) bool {
	for i, c := range wanted {
		if live[i] != seen.AsWanted[c.Kind] || live[i] == nil && c.Want != nil {
			return false
		}
	}
	return true
}
