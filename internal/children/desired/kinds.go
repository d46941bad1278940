package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/routing"
)

// kind is a kind of child. Its first three fields are required.
type kind struct {
	name      string
	newObject func() client.Object
	build     func(*v1.Echo, children.Config) any // returns an apply configuration without labels and owner, or nil
	// state sets what an apply configuration cannot express, nil if there is nothing.
	state    func(*unstructured.Unstructured)
	runsPods bool
	// optional is true if the cluster may not serve the kind.
	optional bool
	// recreate reports whether an object that differs has to be recreated, nil if that is never so.
	recreate children.Recreate
	// mergeLive completes what is desired by what exists, nil if there is nothing to complete.
	mergeLive children.MergeLive
	// mayBeRejected is true if the API server may reject an object that is recreated.
	mayBeRejected bool
}

// kinds returns the kinds of children, in the order in which they are created.
func kinds() []kind {
	return []kind{
		{name: "Service", newObject: func() client.Object { return &corev1.Service{} }, build: service,
			recreate: recreateService, mergeLive: withSecondFamily, mayBeRejected: true},
		{name: "Deployment", newObject: func() client.Object { return &appsv1.Deployment{} }, build: deployment, runsPods: true},
		{name: "PodDisruptionBudget", newObject: func() client.Object { return &policyv1.PodDisruptionBudget{} }, build: disruptionBudget},
		{name: "Ingress", newObject: func() client.Object { return &networkingv1.Ingress{} }, build: routing.Ingress, recreate: routing.RecreateIngress},
		{name: "NetworkPolicy", newObject: func() client.Object { return &networkingv1.NetworkPolicy{} }, build: networkPolicy, state: noEgress},
		{name: routing.BackendTLSPolicyKind, newObject: func() client.Object { return &gatewayv1.BackendTLSPolicy{} }, build: routing.BackendTLSPolicy, optional: true},
		{name: routing.HTTPRouteKind, newObject: func() client.Object { return &gatewayv1.HTTPRoute{} }, build: routing.HTTPRoute, optional: true},
		{name: routing.GRPCRouteKind, newObject: func() client.Object { return &gatewayv1.GRPCRoute{} }, build: routing.GRPCRoute, optional: true},
	}
}

// Kinds returns an empty object of each kind of child that every cluster serves, in the order in which they are created.
func Kinds() []client.Object {
	var objects []client.Object
	for _, k := range kinds() {
		if !k.optional {
			objects = append(objects, k.newObject())
		}
	}
	return objects
}

// OptionalKinds returns an empty object of each kind of child that a cluster may not serve, by its name.
func OptionalKinds() map[string]client.Object {
	objects := map[string]client.Object{}
	for _, k := range kinds() {
		if k.optional {
			objects[k.name] = k.newObject()
		}
	}
	return objects
}

// KindsServed returns an empty object of each kind of child of a cluster that serves some of the optional kinds.
func KindsServed(served children.Served) []client.Object {
	objects := Kinds()
	for name, kind := range OptionalKinds() {
		if served[name] {
			objects = append(objects, kind)
		}
	}
	return objects
}

// Unbuilt returns the children that an Echo may have, without what is wanted of them.
func KindsOf(echo *v1.Echo, served children.Served) []children.Child {
	all := make([]children.Child, 0, len(kinds()))
	for _, k := range kinds() {
		if !k.optional || served[k.name] {
			all = append(all, k.child(echo))
		}
	}
	return all
}

func (k kind) child(echo *v1.Echo) children.Child {
	return children.Child{Kind: k.name, Key: client.ObjectKeyFromObject(echo), NewObject: k.newObject, Optional: k.optional, RunsPods: k.runsPods,
		Recreate: k.recreate, MayBeRejected: k.mayBeRejected, MergeLive: k.mergeLive}
}

// Of returns the children of an Echo, without those of kinds that are not served. An error is a defect of the operator: every valid Echo can be expressed.
func Of(echo *v1.Echo, config children.Config) ([]children.Child, error) {
	var all []children.Child
	for _, k := range kinds() {
		if k.optional && !config.Served[k.name] {
			continue
		}
		c := k.child(echo)
		if configuration := k.build(echo, config); configuration != nil {
			want, err := children.WithMetadata(configuration, children.ChildLabels(echo), children.ChildOwnerReference(echo))
			if err != nil {
				return nil, err
			}
			if k.state != nil {
				k.state(want)
			}
			c.Desired = want
		}
		all = append(all, c)
	}
	return all, nil
}

// Unserved returns the kinds that an Echo asks for and that are not served, in the order in which they would be created.
func Unserved(echo *v1.Echo, served children.Served) []string {
	if !children.HasGateway(echo) { // most do not, and each pass asks
		return nil
	}
	var missing []string
	for _, k := range kinds() {
		if k.optional && !served[k.name] && k.build(echo, children.Config{}) != nil {
			missing = append(missing, k.name)
		}
	}
	return missing
}
