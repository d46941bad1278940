package caches

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Informers holds the informers for all objects that the operator watches, keyed by object type.
type Informers map[string]cache.Informer

// NewInformers makes the caches fetch all watched objects as soon as the caches start. Otherwise, most objects would be fetched only after
// the process becomes the leader and starts its controllers.
func NewInformers(ctx context.Context, objects, labeledPods cache.Cache, watched []client.Object) (Informers, error) {
	all := Informers{}
	add := func(what string, from cache.Cache, object client.Object) error {
		informer, err := from.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("setting up the cache for %s: %w", what, err)
		}
		all[what] = informer
		return nil
	}
	if err := add("labeled pods", labeledPods, &corev1.Pod{}); err != nil {
		return nil, err
	}
	for _, object := range watched {
		if err := add(nameOf(object), objects, object); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// nameOf returns the Go type of an object, or its kind if it has no Go type.
func nameOf(object client.Object) string {
	return cmp.Or(object.GetObjectKind().GroupVersionKind().Kind, strings.TrimPrefix(fmt.Sprintf("%T", object), "*"))
}

// Pending returns the sorted names of the caches that have not received all objects yet.
func (i Informers) Pending() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(i)), func(what string) bool { return i[what].HasSynced() })
}

// Check is a probe that fails until all caches have received all objects. It returns immediately.
func (i Informers) Check(*http.Request) error {
	if pending := i.Pending(); len(pending) > 0 {
		return fmt.Errorf("not received yet: %s", strings.Join(pending, ", "))
	}
	return nil
}
