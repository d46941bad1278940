package support

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RemoveFinalizers removes all finalizers from an object, for example if the operator is no longer running and cannot remove them.
func RemoveFinalizers(ctx context.Context, c client.Client, object client.Object) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
	return client.IgnoreNotFound(c.Patch(ctx, object, patch))
}
