// Package desired builds the objects that an Echo requires. Table lists the kinds of these objects.
package objects

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Kind is a row in the table of kinds. It describes a kind of object that the operator creates for Echoes. All code that depends on the
// kinds iterates over the table or is generated from it by tools/tables.
type Kind struct {
	schema.GroupVersionKind
	// Optional is true if some clusters do not serve the kind.
	Optional bool
	// Kept is a space-separated list of the fields that must-gather writes. If Kept is empty, internal/mustgather/kept.yaml lists the fields.
	Kept string

	// newObject returns an empty object of the Go type for the kind.
	newObject func() client.Object
	// build returns an apply configuration without labels or an owner, or nil if an Echo does not request the kind. The build field itself is
	// nil if the Echo reconciler does not create the kind.
	build func(*v1.Echo, Config) any
	// refine sets the fields of a child that are specific to its kind, including values that an apply configuration cannot express. The refine
	// field is nil if there are no such fields.
	refine   func(*Child)
	runsPods bool
}

// Table returns the kinds of objects that the operator creates. The kinds that the Echo reconciler creates come first, in creation order.
func Table() []Kind {
	gateways := GatewayGroupVersion()
	const whole = "spec status"
	return []Kind{
		{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), newObject: empty[corev1.Service], build: service, refine: refineService,
			Kept: whole},
		{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), newObject: empty[appsv1.Deployment], build: deployment, runsPods: true},
		{GroupVersionKind: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), newObject: empty[policyv1.PodDisruptionBudget],
			build: disruptionBudget, Kept: whole},
		{GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("Ingress"), newObject: empty[networkingv1.Ingress], build: Ingress,
			refine: RefineIngress, Kept: whole},
		{GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), newObject: empty[networkingv1.NetworkPolicy],
			build: networkPolicy, refine: noEgress, Kept: "spec"},
		{GroupVersionKind: gateways.WithKind(BackendTLSPolicyKind), newObject: empty[gatewayv1.BackendTLSPolicy],
			build: BackendTLSPolicy, Kept: whole, Optional: true},
		{GroupVersionKind: gateways.WithKind(HTTPRouteKind), newObject: empty[gatewayv1.HTTPRoute], build: HTTPRoute, Kept: whole,
			Optional: true},
		{GroupVersionKind: gateways.WithKind(GRPCRouteKind), newObject: empty[gatewayv1.GRPCRoute], build: GRPCRoute, Kept: whole,
			Optional: true},
		{GroupVersionKind: MonitoringGroupVersion().WithKind(podMonitorKind), newObject: newPodMonitor, Kept: "spec", Optional: true},
		{GroupVersionKind: batchv1.SchemeGroupVersion.WithKind(cronJobKind), newObject: NewCronJob},
	}
}

// empty returns an empty object of a Go type.
func empty[T any, P interface {
	*T
	client.Object
}]() client.Object {
	return P(new(T))
}

// NewObject returns an empty object of the kind.
func (k Kind) NewObject() client.Object { return k.newObject() }

// Named reports whether objects of this kind have the same name as their Echo. The CronJobs of checks have their own names.
func (k Kind) Named() bool { return k.Kind != cronJobKind }

// Resource returns the API resource for the kind. A test compares it with the rules in the operator's role.
func (k Kind) Resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
	return plural
}

// kindsOfEcho returns the kinds of children that the Echo reconciler creates in a cluster that serves the given optional kinds.
func kindsOfEcho(served Served) []Kind {
	return slices.DeleteFunc(Table(), func(k Kind) bool { return k.build == nil || k.Optional && !served[k.Kind] })
}

// Kinds returns an empty object of each kind of child that every cluster serves, in creation order.
func Kinds() []client.Object { return KindsServed(nil) }

// OptionalKinds returns an empty object of each optional kind of child, keyed by the name of the kind.
func OptionalKinds() map[string]client.Object {
	objects := map[string]client.Object{}
	for _, k := range Table() {
		if k.Optional && k.build != nil {
			objects[k.Kind] = k.newObject()
		}
	}
	return objects
}

// KindsServed returns an empty object of each kind of child in a cluster that serves the given optional kinds.
func KindsServed(served Served) []client.Object {
	var objects []client.Object
	for _, k := range kindsOfEcho(served) {
		objects = append(objects, k.newObject())
	}
	return objects
}

// KindsOf returns all children that an Echo can have, without their desired state.
func KindsOf(echo *v1.Echo, served Served) []Child {
	kinds := kindsOfEcho(served)
	all := make([]Child, len(kinds))
	for i, k := range kinds {
		k.setChild(&all[i], echo, nil)
	}
	return all
}

// setChild sets the fields of a child of an Echo. desired may be nil.
func (k Kind) setChild(c *Child, echo *v1.Echo, desired *unstructured.Unstructured) {
	*c = Child{Kind: k.Kind, Key: client.ObjectKeyFromObject(echo), NewObject: k.newObject, Desired: desired, Optional: k.Optional,
		RunsPods: k.runsPods}
	if k.refine != nil {
		k.refine(c)
	}
}

// Of returns an Echo's children of the kinds that the cluster serves. An error indicates a bug in the operator, because the children of
// every valid Echo can be built.
func Desired(echo *v1.Echo, config Config) ([]Child, error) {
	kinds := kindsOfEcho(config.Served)
	all := make([]Child, len(kinds))
	for i, k := range kinds {
		var desired *unstructured.Unstructured
		if configuration := k.build(echo, config); configuration != nil {
			var err error
			if desired, err = WithMetadata(configuration, echo, ChildLabels(echo), ChildOwnerReference(echo)); err != nil {
				return nil, err
			}
		}
		k.setChild(&all[i], echo, desired)
	}
	return all, nil
}

// Unserved returns the kinds that an Echo requests but that the cluster does not serve, in creation order.
func Unserved(echo *v1.Echo, served Served) []string {
	if !HasGateway(echo) { // a shortcut, because every reconcile calls this and most Echoes have no routes
		return nil
	}
	var missing []string
	for _, k := range Table() {
		if k.Optional && k.build != nil && !served[k.Kind] && k.build(echo, Config{}) != nil {
			missing = append(missing, k.Kind)
		}
	}
	return missing
}
