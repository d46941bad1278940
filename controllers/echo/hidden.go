package echo

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// orHidden returns a reader that also asks the API server for a child that is no longer desired and may be hidden. If another client
// removed the child's label, the cache does not hold the child, and no write by the operator would reveal the child.
func (r *Reconciler) orHidden(read childReader) childReader {
	return func(ctx context.Context, echo *v1.Echo, c children.Child) (client.Object, error) {
		live, err := read(ctx, echo, c)
		if err != nil || live != nil || c.Desired != nil || !r.mayBeHidden(echo, c.Kind) {
			return live, err
		}
		return controllers.ReadControlled(ctx, r.Live, echo, c)
	}
}

// mayBeHidden reports whether an Echo may have a child of the given kind that is neither desired nor in the cache. The Echo has none if the
// last comparison found none and none has been created since then. It also has none if its spec was applied and the Echo is not being
// deleted.
func (r *Reconciler) mayBeHidden(echo *v1.Echo, kind string) bool {
	if r.memory.upToDate.Lacks(echo, kind) {
		return false
	}
	return !echo.DeletionTimestamp.IsZero() || !status.IsApplied(echo)
}
