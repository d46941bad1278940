package operator

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// Watched specifies which kinds the operator watches in addition to the built-in kinds of Kubernetes.
type watchedKinds struct {
	// Served holds the Gateway API kinds to watch.
	Served objects.Served
	// PodMonitors is true if the operator can create PodMonitors.
	PodMonitors bool
	// TLS is the source of the cluster's TLS profile.
	TLS map[client.Object]cache.ByObject
}

// Objects returns an empty object of each kind in the manager's cache, except the kinds in TLS, which openshift.TLSProfile watches.
func (w watchedKinds) Objects() []client.Object {
	kinds := append(objects.KindsServed(w.Served), objects.NewCronJob(), &v1.Echo{}, &corev1.Pod{}, &corev1.Node{})
	if w.Served[objects.GatewayKind] {
		kinds = append(kinds, &gatewayv1.Gateway{})
	}
	if w.PodMonitors {
		kinds = append(kinds, objects.NewPodMonitor())
	}
	return kinds
}

// Options returns options that limit the cache to the objects and fields that the operator reads. The cache calls missed when the cluster
// no longer serves a watched kind.
func cacheOptions(namespaces []string, watched watchedKinds, missed func()) cache.Options {
	o := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultNamespaces:           namespaceConfigs(namespaces),
		ByObject: map[client.Object]cache.ByObject{
			&v1.Echo{}:     {Transform: stripEcho},
			&corev1.Node{}: {Transform: stripNode},
			&corev1.Pod{}:  {Label: objects.ManagedSelector(), Transform: stripPod},
		},
	}
	for _, kind := range append(objects.KindsServed(watched.Served), objects.NewCronJob()) {
		o.ByObject[kind] = cache.ByObject{Label: objects.ManagedSelector(), Transform: stripChild}
	}
	if watched.Served[objects.GatewayKind] {
		o.ByObject[&gatewayv1.Gateway{}] = cache.ByObject{
			Namespaces: map[string]cache.Config{metav1.NamespaceAll: {}}, Transform: stripGateway}
	}
	if watched.PodMonitors {
		// The cache holds all PodMonitors, because a label selector would hide a PodMonitor that lost its labels and is no longer desired.
		// Clusters have few PodMonitors.
		o.ByObject[objects.NewPodMonitor()] = cache.ByObject{Transform: stripPodMonitor}
	}
	maps.Copy(o.ByObject, watched.TLS)
	o.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			missed()
		}
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	}
	return o
}

// furtherCacheOptions returns the options for caches other than the manager's cache.
func furtherCacheOptions(mgr manager.Manager, namespaces []string) cache.Options {
	return cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultNamespaces: namespaceConfigs(namespaces), ReaderFailOnMissingInformer: true,
	}
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
