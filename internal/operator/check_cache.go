package operator

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
)

// newCronJobs returns a cache of the CronJobs that the operator created, which is made when the first Echo has checks.
func newCronJobs(mgr manager.Manager, namespaces []string) *controllers.LazyCache {
	return &controllers.LazyCache{
		New: func() (cache.Cache, error) {
			o := furtherCacheOptions(mgr, namespaces)
			o.ByObject = map[client.Object]cache.ByObject{
				children.BlankCronJob(): {Label: children.ManagedSelector(), Transform: stripManagedFields},
			}
			cronJobs, err := cache.New(mgr.GetConfig(), o)
			if err != nil {
				return nil, fmt.Errorf("setting up the cache of CronJobs: %w", err)
			}
			return cronJobs, nil
		},
		Add: mgr.Add,
	}
}
