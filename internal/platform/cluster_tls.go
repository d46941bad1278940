package platform

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// longestRetry is how long the operator waits at most before it asks for the profile again.
const longestRetry = 10 * time.Minute

// apiServerName is the name of the only APIServer of an OpenShift cluster.
const apiServerName = "cluster"

// ClusterTLS restricts endpoints to the TLS profile of an OpenShift cluster, and to the intermediate profile elsewhere. Connections that
// are made after a change of the profile follow it. It also tells what the profile requires of servers in pods.
type ClusterTLS struct {
	apiServers dynamic.ResourceInterface
	log        logr.Logger

	lock    sync.Mutex
	profile tlsProfile
	// found is true if the profile is that of an OpenShift cluster.
	found bool
	// problem is why it is not known whether the cluster has a profile, nil if it is.
	problem error
	known   chan struct{} // closed when the profile was asked for
	changes []chan<- event.TypedGenericEvent[struct{}]
}

// NewClusterTLS returns the profile of a cluster. It is not known before Run has asked for it.
func NewClusterTLS(cluster *rest.Config, log logr.Logger) (*ClusterTLS, error) {
	resources, err := dynamic.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	apiServers := resources.Resource(configv1.GroupVersion.WithResource("apiservers"))
	return &ClusterTLS{apiServers: apiServers, log: log, profile: intermediate(), known: make(chan struct{})}, nil
}

// Restrict lets the connections of an endpoint follow the profile. Until the profile is known they wait.
func (c *ClusterTLS) Restrict(endpoint *tls.Config) {
	endpoint.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		select {
		case <-c.known:
		case <-hello.Context().Done():
			return nil, fmt.Errorf("the TLS profile of the cluster is not known yet: %w", hello.Context().Err())
		}
		restricted := endpoint.Clone()
		restricted.GetConfigForClient = nil
		c.current().apply(restricted)
		return restricted, nil
	}
}

// Run asks for the profile, and follows it until ctx ends if the cluster has one.
func (c *ClusterTLS) Run(ctx context.Context) {
	if !c.served(ctx) {
		return
	}
	cluster := fields.OneTermEqualSelector(metav1.ObjectNameField, apiServerName).String()
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.FieldSelector = cluster
				return c.apiServers.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.FieldSelector = cluster
				return c.apiServers.Watch(ctx, options)
			},
		},
		ObjectType: &unstructured.Unstructured{},
		Handler:    cache.ResourceEventHandlerFuncs{AddFunc: c.follow, UpdateFunc: func(_, o any) { c.follow(o) }},
	})
	informer.RunWithContext(ctx)
}

// Required returns the minimum version and the ciphers of the cluster's profile for servers in its pods, empty if the cluster has none. Until
// the profile was asked for it waits. That the profile cannot be read for now is an error, because a guess would restart pods twice.
func (c *ClusterTLS) Required(ctx context.Context) (minVersion string, ciphers []string, err error) {
	select {
	case <-c.known:
	case <-ctx.Done():
		return "", nil, fmt.Errorf("the TLS profile of the cluster is not known yet: %w", ctx.Err())
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.problem != nil {
		return "", nil, fmt.Errorf("reading the TLS profile of the cluster: %w", c.problem)
	}
	if !c.found {
		return "", nil, nil
	}
	minVersion, ciphers = c.profile.names()
	return minVersion, ciphers, nil
}

// Changes returns a channel that receives an event when what Required returns may have changed. It must be called before Run.
func (c *ClusterTLS) Changes() <-chan event.TypedGenericEvent[struct{}] {
	changes := make(chan event.TypedGenericEvent[struct{}], 1) // one event is enough, however many changes it stands for
	c.changes = append(c.changes, changes)
	return changes
}

// served asks for the profile until the API server answers, and reports whether there is one to follow. After the first error endpoints
// serve by the intermediate profile.
func (c *ClusterTLS) served(ctx context.Context) bool {
	served, asked, tell := false, sync.OnceFunc(func() { close(c.known) }), sync.OnceFunc(func() {
		c.log.Info("The operator may not read the TLS profile of an OpenShift cluster. Its endpoints use the intermediate profile until it may.")
	})
	retry := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Cap: longestRetry, Steps: math.MaxInt}.DelayFunc()
	_ = retry.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		defer asked()
		found, err := c.apiServers.Get(ctx, apiServerName, metav1.GetOptions{})
		c.learn(err)
		switch {
		case err == nil:
			c.follow(found)
			served = true
			return true, nil
		case apierrors.IsForbidden(err):
			tell()
		}
		return apierrors.IsNotFound(err), nil
	})
	return served
}

// learn keeps why the profile cannot be read. A cluster that has none, or does not let the operator read it, is no problem.
func (c *ClusterTLS) learn(err error) {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		err = nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.problem != nil && err == nil {
		c.report()
	}
	c.problem = err
}

// follow takes the profile of an APIServer.
func (c *ClusterTLS) follow(apiServer any) {
	object, ok := apiServer.(*unstructured.Unstructured)
	if !ok {
		return
	}
	read := &configv1.APIServer{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, read); err != nil {
		c.log.Info("The TLS profile of the cluster cannot be read. Endpoints keep the last one.", "cause", err.Error())
		return
	}
	next := profileOf(read.Spec.TLSSecurityProfile)
	c.lock.Lock()
	defer c.lock.Unlock()
	differs := !reflect.DeepEqual(next, c.profile)
	if differs {
		c.log.Info("Endpoints follow the TLS profile of the cluster.", "minVersion", tls.VersionName(next.minVersion))
	}
	if differs || !c.found {
		c.report()
	}
	c.profile, c.found = next, true
}

// report sends an event to each channel that has none.
func (c *ClusterTLS) report() {
	for _, changes := range c.changes {
		select {
		case changes <- event.TypedGenericEvent[struct{}]{}:
		default:
		}
	}
}

func (c *ClusterTLS) current() tlsProfile {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.profile
}
