package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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

// discoverTimeout limits the discovery of the cluster's APIs at startup, and then the reading of the TLS profile.
const discoverTimeout = 30 * time.Second

// discover asks the cluster which optional APIs and which TLS profile it offers. If the cluster does not report whether it serves an API,
// the operator starts without the API.
func (o *Operator) discover(ctx context.Context, config *rest.Config, options Options) error {
	discovering, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	quick := rest.CopyConfig(config)
	quick.Timeout = startCheckTimeout
	cluster, err := newDiscoverer(quick)
	if err != nil {
		return err
	}
	kinds := optionalKinds(options)
	retry := wait.Backoff{Duration: time.Second, Factor: 2, Steps: 5} // for 1 + 2 + 4 + 8 s, which outlasts the restart of an API server
	if o.apis, err = cluster.askUntilKnown(discovering, kinds, retry); err != nil {
		ctrl.Log.Info("The cluster does not serve some APIs at the moment. The operator starts without them.", "cause", err.Error())
	}
	for kind, found := range o.apis {
		if found.access == forbidden {
			ctrl.Log.Info("The operator is not permitted to use a kind. It restarts when the permission is granted and an Echo requires the kind.",
				"kind", kind.Kind, "cause", found.cause)
		}
	}
	o.supervisor.apis = &apiWatch{
		period:   cmp.Or(options.DiscoveryPeriod, time.Minute),
		began:    time.Now(),
		start:    o.apis,
		ask:      cluster.ask,
		kinds:    kinds,
		required: o.requiredAPIs,
	}
	reading, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	var unread error
	err = wait.ExponentialBackoffWithContext(reading, retry, func(ctx context.Context) (bool, error) {
		o.tls, unread = openshift.FindTLSProfile(ctx, quick)
		return unread == nil, nil
	})
	if err != nil { // a wrong guess would restart pods twice
		return fmt.Errorf("reading the TLS profile of the cluster: %w", cmp.Or(unread, err))
	}
	if o.tls.Refused != "" {
		ctrl.Log.Info("The operator cannot read the TLS profile of an OpenShift cluster, and uses the intermediate profile. "+
			"Grant the right, then restart the operator.", "cause", o.tls.Refused)
	}
	return nil
}

// optionalKinds returns the kinds that the operator uses if the cluster serves them.
func optionalKinds(options Options) []optionalKind {
	all := []string{metav1.NamespaceAll}
	namespaces := options.Namespaces
	if len(namespaces) == 0 {
		namespaces = all
	}
	gateways, monitors, console := objects.GatewayGroupVersion(), objects.MonitoringGroupVersion(), openshift.ConsoleAPI()
	kinds := []optionalKind{
		{GroupVersionKind: gateways.WithKind(objects.GatewayKind), in: all},
		{GroupVersionKind: monitors.WithKind("ServiceMonitor")},
		{GroupVersionKind: monitors.WithKind("PrometheusRule")},
		{GroupVersionKind: openshift.RouteKind()},
	}
	for _, kind := range objects.Table() {
		if kind.Optional {
			kinds = append(kinds, optionalKind{GroupVersionKind: kind.GroupVersionKind, in: namespaces})
		}
	}
	if options.CSV != "" {
		kinds = append(kinds, optionalKind{GroupVersionKind: console.WithKind("ConsoleYAMLSample")},
			optionalKind{GroupVersionKind: console.WithKind("ConsoleQuickStart")})
	}
	return kinds
}

func (o *Operator) gatewayAPI() controllers.GatewayAPI {
	api := objects.GatewayGroupVersion()
	return controllers.GatewayAPI{Served: o.apis.usable(api), Refused: o.apis.refused(api),
		Unknown: o.apis[api.WithKind(objects.GatewayKind)].access == unknown}
}

func (o *Operator) podMonitors() bool {
	return o.apis.usable(objects.MonitoringGroupVersion())["PodMonitor"]
}

func (o *Operator) watched() watchedKinds {
	return watchedKinds{served: o.gatewayAPI().Served, podMonitors: o.podMonitors(), tls: o.tls.Cached()}
}

// requiredAPIs returns a function that reports whether Echoes require a kind. Until the caches are filled, the function returns false.
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
	routes := o.apis[openshift.RouteKind()].access == unknown && used(objects.HasIngress)
	return func(kind optionalKind) bool {
		return gateways && kind.GroupVersion() == objects.GatewayGroupVersion() || monitors && kind.Kind == objects.NewPodMonitor().GetKind() ||
			routes && kind.GroupVersionKind == openshift.RouteKind()
	}
}

// addAdditions adds the objects with which Prometheus monitors the operator and, if OLM installed the operator, the objects that the
// OpenShift console shows for Echoes.
func (o *Operator) addAdditions(options Options) error {
	namespace := leaseNamespace(options)
	if namespace == "" { // outside a cluster
		return nil
	}
	if options.CSV != "" {
		if err := o.Add(&additions{
			what:   "samples of Echoes to the console",
			served: o.apis.usable(openshift.ConsoleAPI()),
			objects: func() ([]*unstructured.Unstructured, error) {
				return openshift.ConsoleObjects(o.gatewayAPI().Served[objects.HTTPRouteKind])
			},
			// OLM created this ClusterRole, which can own cluster-scoped objects, and deletes it together with the ClusterServiceVersion.
			owner: rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
			options: []client.ListOption{client.Limit(1), client.MatchingLabels{
				"olm.owner": options.CSV, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": namespace}},
			manager:  "echo-operator." + namespace,
			operator: o,
			log:      o.GetLogger().WithName("console"),
		}); err != nil {
			return err
		}
	}
	return o.Add(&additions{
		what:    "its ServiceMonitor and its PrometheusRule",
		served:  o.apis.usable(objects.MonitoringGroupVersion()),
		objects: func() ([]*unstructured.Unstructured, error) { return telemetry.Objects(namespace) },
		owner:   appsv1.SchemeGroupVersion.WithKind("Deployment"), // the operator's own
		options: []client.ListOption{client.Limit(1), client.InNamespace(namespace),
			client.MatchingLabels{"app.kubernetes.io/name": "echo-operator", "control-plane": "controller-manager"}},
		manager:  eventReporter,
		operator: o,
		log:      o.GetLogger().WithName("monitoring"),
	})
}
