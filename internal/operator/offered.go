package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/openshift"
	"github.com/echo-operator/echo-operator/internal/telemetry"
)

// discoverTimeout limits the discovery of the cluster's APIs at startup.
const discoverTimeout = 30 * time.Second

// offered holds the optional APIs and the TLS profile that the cluster offered when the operator started. The operator sets up caches and
// watches for these APIs only once.
type offered struct {
	apis Offer
	tls  openshift.TLSProfile
}

// discover asks the cluster which optional APIs it offers. If the cluster does not report whether it serves an API, the operator starts
// without the API.
func (o *Operator) discover(ctx context.Context, config *rest.Config, options Options) error {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	quick := rest.CopyConfig(config)
	quick.Timeout = startCheckTimeout
	cluster, err := newDiscoverer(quick)
	if err != nil {
		return err
	}
	kinds := optionalKinds(options)
	if o.offered.apis, err = cluster.AskUntilKnown(ctx, kinds, discoverRetries()); err != nil {
		ctrl.Log.Info("The cluster does not serve some APIs at the moment. The operator starts without them.", "cause", err.Error())
	}
	for kind, finding := range o.offered.apis {
		if finding.access == Forbidden {
			ctrl.Log.Info("The operator is not permitted to use a kind. It restarts when the permission is granted and an Echo requires the kind.",
				"kind", kind.Kind, "cause", finding.Cause)
		}
	}
	o.supervisor.apis = o.watchAPIs(cluster, kinds, options.DiscoveryPeriod)
	o.offered.tls, err = findTLSProfile(ctx, quick)
	return err
}

// findTLSProfile reads the TLS profile of the cluster. An unknown profile is an error, because a wrong guess would restart pods twice.
func findTLSProfile(ctx context.Context, config *rest.Config) (openshift.TLSProfile, error) {
	var profile openshift.TLSProfile
	var last error
	_ = wait.ExponentialBackoffWithContext(ctx, discoverRetries(), func(ctx context.Context) (bool, error) {
		profile, last = openshift.FindTLSProfile(ctx, config)
		return last == nil, nil
	})
	if last != nil {
		return profile, fmt.Errorf("reading the TLS profile of the cluster: %w", last)
	}
	if profile.Refused != "" {
		ctrl.Log.Info("The operator cannot read the TLS profile of an OpenShift cluster, and uses the intermediate profile. "+
			"Grant the right, then restart the operator.", "cause", profile.Refused)
	}
	return profile, nil
}

// discoverRetries returns a backoff that outlasts the restart of an API server: it waits for 1 + 2 + 4 + 8 s.
func discoverRetries() wait.Backoff { return wait.Backoff{Duration: time.Second, Factor: 2, Steps: 5} }

// optionalKinds returns the kinds that the operator uses if the cluster serves them, with the namespaces in which the operator lists
// objects of these kinds. An empty name stands for all namespaces.
func optionalKinds(options Options) []optionalKind {
	all := []string{metav1.NamespaceAll}
	namespaces := options.Namespaces
	if len(namespaces) == 0 {
		namespaces = all
	}
	gateways, monitors, console := objects.GatewayGroupVersion(), objects.MonitoringGroupVersion(), openshift.ConsoleAPI()
	kinds := []optionalKind{
		{GroupVersionKind: gateways.WithKind(objects.GatewayKind), In: all},
		{GroupVersionKind: monitors.WithKind("ServiceMonitor")},
		{GroupVersionKind: monitors.WithKind("PrometheusRule")},
		{GroupVersionKind: openshift.RouteKind()},
	}
	for _, kind := range objects.Table() {
		if kind.Optional {
			kinds = append(kinds, optionalKind{GroupVersionKind: kind.GroupVersionKind, In: namespaces})
		}
	}
	if options.CSV != "" {
		kinds = append(kinds, optionalKind{GroupVersionKind: console.WithKind("ConsoleYAMLSample")},
			optionalKind{GroupVersionKind: console.WithKind("ConsoleQuickStart")})
	}
	return kinds
}

func (f offered) gatewayAPI() controllers.GatewayAPI {
	api := objects.GatewayGroupVersion()
	return controllers.GatewayAPI{Served: f.apis.Usable(api), Refused: f.apis.Refused(api),
		Unknown: f.apis[api.WithKind(objects.GatewayKind)].access == Unknown}
}

func (f offered) podMonitors() bool {
	return f.apis.Usable(objects.MonitoringGroupVersion())["PodMonitor"]
}

// routes reports whether the cluster serves Routes, or may serve them. A cluster that does not report whether it serves Routes is an
// OpenShift cluster whose Route server is down. In such a cluster, an Ingress would lose its Route if the operator changed the Ingress as
// it does in other clusters.
func (f offered) routes() bool { return f.apis[openshift.RouteKind()].access != NotServed }

// tlsOfEchoes returns the TLS profile that the cluster requires for HTTPS in the echo servers.
func (f offered) tlsOfEchoes() objects.TLSProfile {
	minVersion, ciphers := f.tls.Names()
	return objects.TLSProfile{MinVersion: minVersion, Ciphers: ciphers}
}

// watched returns the optional kinds that the caches hold.
func (f offered) watched() watchedKinds {
	return watchedKinds{Served: f.gatewayAPI().Served, PodMonitors: f.podMonitors(), TLS: f.tls.Cached()}
}

// watchAPIs returns a watch that asks the cluster about the APIs that Echoes require.
func (o *Operator) watchAPIs(cluster *discoverer, kinds []optionalKind, period time.Duration) *Watch {
	return &Watch{
		Period:   cmp.Or(period, time.Minute),
		Began:    time.Now(),
		Start:    o.offered.apis,
		Ask:      cluster.Ask,
		Kinds:    kinds,
		Required: o.requiredAPIs,
	}
}

// requiredAPIs returns a function that reports whether Echoes require a kind. If the caches are not filled yet, the returned function
// always returns false.
func (o *Operator) requiredAPIs(ctx context.Context) func(optionalKind) bool {
	list := &v1.EchoList{}
	if len(o.supervisor.pending()) > 0 || o.GetClient().List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
		return func(optionalKind) bool { return false }
	}
	used := func(by func(*v1.Echo) bool) bool {
		return slices.ContainsFunc(list.Items, func(echo v1.Echo) bool { return by(&echo) })
	}
	gateways, monitors := used(objects.HasGateway), used(objects.HasMonitoring)
	// A cluster that did not serve Routes when the operator started does not serve them later.
	routesUnknown := o.offered.apis[openshift.RouteKind()].access == Unknown
	routes := routesUnknown && used(objects.HasIngress)
	return func(kind optionalKind) bool {
		return gateways && kind.GroupVersion() == objects.GatewayGroupVersion() || monitors && kind.Kind == objects.NewPodMonitor().GetKind() ||
			routes && kind.GroupVersionKind == openshift.RouteKind()
	}
}

func (o *Operator) addAdditions(options Options) error {
	namespace := leaseNamespace(options)
	if namespace == "" { // outside a cluster
		return nil
	}
	if options.CSV != "" {
		if err := o.addConsole(options.CSV, namespace); err != nil {
			return err
		}
	}
	return o.Add(&additions{
		What:    "its ServiceMonitor and its PrometheusRule",
		Served:  o.offered.apis.Usable(objects.MonitoringGroupVersion()),
		Objects: func() ([]*unstructured.Unstructured, error) { return telemetry.Objects(namespace) },
		Owner:   ownerInNamespace(o.GetAPIReader(), namespace),
		Manager: eventReporter,
		Writer:  o.GetClient(),
		Log:     o.GetLogger().WithName("monitoring"),
	})
}

// addConsole adds the objects that the OpenShift console shows for Echoes, if OLM installed the operator.
func (o *Operator) addConsole(csv, namespace string) error {
	return o.Add(&additions{
		What:   "samples of Echoes to the console",
		Served: o.offered.apis.Usable(openshift.ConsoleAPI()),
		Objects: func() ([]*unstructured.Unstructured, error) {
			return openshift.ConsoleObjects(o.offered.gatewayAPI().Served[objects.HTTPRouteKind])
		},
		Owner:   ownerByOLM(o.GetAPIReader(), csv, namespace),
		Manager: "echo-operator." + namespace,
		Writer:  o.GetClient(),
		Log:     o.GetLogger().WithName("console"),
	})
}
