package children

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// kind is a kind of child. Its first three fields are required.
type kind struct {
	name  string
	blank func() client.Object
	build func(*v1.Echo, Config) any // returns an apply configuration without labels and owner, or nil
	// state sets what an apply configuration cannot express, nil if there is nothing.
	state    func(*unstructured.Unstructured)
	runsPods bool
	// optional is true if the cluster may not serve the kind.
	optional bool
	// anew reports whether an object that differs has to be created anew, nil if that is never so.
	anew anew
	// given completes what is wanted by what exists, nil if there is nothing to complete.
	given given
	// refusable is true if the API server may refuse an object that is created anew.
	refusable bool
}

// kinds returns the kinds of children, in the order in which they are created.
func kinds() []kind {
	return []kind{
		{name: "Service", blank: func() client.Object { return &corev1.Service{} }, build: service,
			anew: serviceAnew, given: withSecondFamily, refusable: true},
		{name: "Deployment", blank: func() client.Object { return &appsv1.Deployment{} }, build: deployment, runsPods: true},
		{name: "PodDisruptionBudget", blank: func() client.Object { return &policyv1.PodDisruptionBudget{} }, build: disruptionBudget},
		{name: "Ingress", blank: func() client.Object { return &networkingv1.Ingress{} }, build: ingress, anew: ingressAnew},
		{name: "NetworkPolicy", blank: func() client.Object { return &networkingv1.NetworkPolicy{} }, build: networkPolicy, state: noEgress},
		{name: backendTLSPolicyKind, blank: func() client.Object { return &gatewayv1.BackendTLSPolicy{} }, build: backendTLSPolicy, optional: true},
		{name: httpRouteKind, blank: func() client.Object { return &gatewayv1.HTTPRoute{} }, build: httpRoute, optional: true},
		{name: grpcRouteKind, blank: func() client.Object { return &gatewayv1.GRPCRoute{} }, build: grpcRoute, optional: true},
	}
}

// Kinds returns an empty object of each kind of child that every cluster serves, in the order in which they are created.
func Kinds() []client.Object {
	var objects []client.Object
	for _, k := range kinds() {
		if !k.optional {
			objects = append(objects, k.blank())
		}
	}
	return objects
}

// OptionalKinds returns an empty object of each kind of child that a cluster may not serve, by its name.
func OptionalKinds() map[string]client.Object {
	objects := map[string]client.Object{}
	for _, k := range kinds() {
		if k.optional {
			objects[k.name] = k.blank()
		}
	}
	return objects
}

// KindsServed returns an empty object of each kind of child of a cluster that serves some of the optional kinds.
func KindsServed(served Served) []client.Object {
	objects := Kinds()
	for name, kind := range OptionalKinds() {
		if served[name] {
			objects = append(objects, kind)
		}
	}
	return objects
}

// Unbuilt returns the children that an Echo may have, without what is wanted of them.
func Unbuilt(echo *v1.Echo, served Served) []Child {
	all := make([]Child, 0, len(kinds()))
	for _, k := range kinds() {
		if !k.optional || served[k.name] {
			all = append(all, k.child(echo))
		}
	}
	return all
}

func (k kind) child(echo *v1.Echo) Child {
	return Child{Kind: k.name, Key: client.ObjectKeyFromObject(echo), Blank: k.blank, Optional: k.optional, RunsPods: k.runsPods,
		anew: k.anew, refusable: k.refusable, given: k.given}
}

// Of returns the children of an Echo, without those of kinds that are not served. An error is a defect of the operator: every valid Echo can be expressed.
func Of(echo *v1.Echo, config Config) ([]Child, error) {
	var all []Child
	for _, k := range kinds() {
		if k.optional && !config.Served[k.name] {
			continue
		}
		c := k.child(echo)
		if configuration := k.build(echo, config); configuration != nil {
			want, err := withMetadata(configuration, childLabels(echo), childOwnerReference(echo))
			if err != nil {
				return nil, err
			}
			if k.state != nil {
				k.state(want)
			}
			c.Want = want
		}
		all = append(all, c)
	}
	return all, nil
}

// Unserved returns the kinds that an Echo asks for and that are not served, in the order in which they would be created.
func Unserved(echo *v1.Echo, served Served) []string {
	if !HasGateway(echo) { // most do not, and each pass asks
		return nil
	}
	var missing []string
	for _, k := range kinds() {
		if k.optional && !served[k.name] && k.build(echo, Config{}) != nil {
			missing = append(missing, k.name)
		}
	}
	return missing
}
