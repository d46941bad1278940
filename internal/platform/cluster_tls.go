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
)

// longestRetry is how long the operator waits at most before it asks for the profile again.
const longestRetry = 10 * time.Minute

// apiServerName is the name of the only APIServer of an OpenShift cluster.
const apiServerName = "cluster"

// ClusterTLS restricts endpoints to the TLS profile of an OpenShift cluster, and to the intermediate profile elsewhere. Connections that
// are made after a change of the profile follow it.
type ClusterTLS struct {
	apiServers dynamic.ResourceInterface
	log        logr.Logger

	lock    sync.Mutex
	profile tlsProfile
	known   chan struct{} // closed when the profile was asked for
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
	if !reflect.DeepEqual(next, c.profile) {
		c.log.Info("Endpoints follow the TLS profile of the cluster.", "minVersion", tls.VersionName(next.minVersion))
	}
	c.profile = next
}

func (c *ClusterTLS) current() tlsProfile {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.profile
}
