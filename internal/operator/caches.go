package operator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// cacheOptions returns options that limit the manager's cache to the objects and fields that the operator reads: all Echoes, their objects
// and pods, the conditions of nodes, and Gateways. A second cache holds the pods with the companion label, because a cache has only one
// selector per kind. The cache calls missed when the cluster no longer serves a watched kind.
//
// Every replica fills its caches when it starts, whether or not it is the leader. A process sets up its caches only once. If it needs
// different caches, it exits, and the next process sets them up.
func cacheOptions(namespaces []string, watched watchedKinds, missed func()) cache.Options {
	o := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultNamespaces:           namespaceConfigs(namespaces),
		DefaultTransform:            objects.Strip,
		ByObject:                    watched.selected(),
	}
	maps.Copy(o.ByObject, watched.tls)
	o.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			missed()
		}
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	}
	return o
}

// namespaceConfigs returns a configuration for each namespace that a cache watches, or nil to watch all namespaces.
func namespaceConfigs(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	configs := make(map[string]cache.Config, len(namespaces))
	for _, namespace := range namespaces {
		configs[namespace] = cache.Config{}
	}
	return configs
}

// watchedKinds specifies which kinds the operator watches in addition to the built-in kinds of Kubernetes.
type watchedKinds struct {
	// served holds the Gateway API kinds to watch.
	served objects.Served
	// podMonitors is true if the operator can create PodMonitors.
	podMonitors bool
	// tls is the source of the cluster's TLS profile.
	tls map[client.Object]cache.ByObject
}

// selected returns what the manager's cache holds of each kind, except the kinds in tls, which openshift.TLSProfile watches.
func (w watchedKinds) selected() map[client.Object]cache.ByObject {
	kinds := map[client.Object]cache.ByObject{
		&v1.Echo{}:     {},
		&corev1.Node{}: {},
		&corev1.Pod{}:  {Label: objects.ManagedSelector()},
	}
	for _, kind := range append(objects.Kinds(w.served), objects.NewCronJob()) {
		kinds[kind] = cache.ByObject{Label: objects.ManagedSelector()}
	}
	if w.served[objects.GatewayKind] {
		kinds[&gatewayv1.Gateway{}] = cache.ByObject{Namespaces: map[string]cache.Config{metav1.NamespaceAll: {}}}
	}
	if w.podMonitors {
		// The cache holds all PodMonitors, because a label selector would hide a PodMonitor that lost its labels and is no longer desired.
		// Clusters have few PodMonitors.
		kinds[objects.NewPodMonitor()] = cache.ByObject{}
	}
	return kinds
}

// newLabeledPods adds a second cache to a manager, for the pods that request a companion. Pods without the companion label use no memory.
func newLabeledPods(mgr manager.Manager, namespaces []string) (cache.Cache, error) {
	labeled, err := labels.NewRequirement(v1.CompanionLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	pods, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultNamespaces: namespaceConfigs(namespaces), ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: labels.NewSelector().Add(*labeled), Transform: objects.StripLabeledPod},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the cache for labeled pods: %w", err)
	}
	return pods, mgr.Add(managedCache{pods})
}

// managedCache makes a manager start a second cache together with its own cache, and wait for both before leader election.
type managedCache struct{ cache.Cache }

// GetCache makes a manager treat the object as a cache.
func (c managedCache) GetCache() cache.Cache { return c.Cache }

// informers holds the informers for all objects that the operator watches, keyed by object type.
type informers map[string]cache.Informer

// newInformers makes the caches fetch all watched objects as soon as the caches start. Otherwise, most objects would be fetched only after
// the process becomes the leader and starts its controllers.
func newInformers(ctx context.Context, main, labeledPods cache.Cache, watched watchedKinds) (informers, error) {
	labeled, err := labeledPods.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("setting up the cache for labeled pods: %w", err)
	}
	all := informers{"labeled pods": labeled}
	for object := range watched.selected() {
		what := nameOf(object)
		if all[what], err = main.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("setting up the cache for %s: %w", what, err)
		}
	}
	return all, nil
}

// nameOf returns the Go type of an object, or its kind if it has no Go type.
func nameOf(object client.Object) string {
	return cmp.Or(object.GetObjectKind().GroupVersionKind().Kind, strings.TrimPrefix(fmt.Sprintf("%T", object), "*"))
}

// pending returns the sorted names of the caches that have not received all objects yet.
func (i informers) pending() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(i)), func(what string) bool { return i[what].HasSynced() })
}

// check is a probe that fails until all caches have received all objects. It returns immediately.
func (i informers) check(*http.Request) error {
	if pending := i.pending(); len(pending) > 0 {
		return fmt.Errorf("not received yet: %s", strings.Join(pending, ", "))
	}
	return nil
}

// synced is a channel, and a runnable that closes the channel after a manager has filled its caches.
//
// A manager cannot stop before its caches are filled. If its context is canceled earlier, it keeps waiting and uses a whole CPU core (see
// sigs.k8s.io/controller-runtime/pkg/manager/runnable_group.go). It does not hold the lease yet, so no other replica has to wait for it.
type synced chan struct{}

// Start implements manager.Runnable.
func (c synced) Start(context.Context) error {
	close(c)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. All replicas fill their caches.
func (synced) NeedLeaderElection() bool { return false }
