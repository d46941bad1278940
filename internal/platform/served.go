package platform

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Served returns the kinds of a version of an API that a cluster serves, none if it does not serve that.
func Served(ctx context.Context, cluster *discovery.DiscoveryClient, api schema.GroupVersion) (map[string]bool, error) {
	kinds := map[string]bool{}
	list, err := cluster.ServerResourcesForGroupVersionWithContext(ctx, api.String())
	if apierrors.IsNotFound(err) {
		return kinds, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking whether the cluster serves %s: %w", api, err)
	}
	for _, resource := range list.APIResources {
		kinds[resource.Kind] = true
	}
	return kinds, nil
}
