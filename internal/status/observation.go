package status

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// Observation records what a reconcile observed and changed. It is valid even if the reconcile failed. A nil object is unknown or does not
// exist.
type Observation struct {
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	Ingress    *networkingv1.Ingress
	// NoDeployment is true if the Deployment is known to be missing and the reconcile did not create it.
	NoDeployment bool
	// Unwatched is true if a child lost the label that the watches filter by. The operator then receives no events for the child.
	Unwatched bool
	// Pods are the pods of the Deployment, newest first.
	Pods       []corev1.Pod
	Companions []corev1.Pod
	// Nodes contains the nodes on which the pods run, keyed by name.
	Nodes     map[string]Node
	HTTPRoute *gatewayv1.HTTPRoute
	GRPCRoute *gatewayv1.GRPCRoute
	// BackendTLSPolicy specifies how Gateways connect to the pods. It is nil if Gateways do not use TLS for these connections.
	BackendTLSPolicy *gatewayv1.BackendTLSPolicy
	// Gateways are the Echo's existing Gateways, or nil if they cannot be read.
	Gateways objects.Gateways
	// GatewaysUnknown is true if the cluster did not report which Gateway API kinds it serves.
	GatewaysUnknown bool
	// GatewaysRefused is the reason why the operator cannot read Gateways. It is empty if the operator can read them or does not need to.
	GatewaysRefused string
	// Unserved lists the Gateway API kinds that the Echo requires but the operator cannot use.
	Unserved []Unserved
	// NoRoute is the reason why OpenShift creates no Route for the Ingress. It is empty if OpenShift creates a Route or if the cluster does
	// not serve the Route API.
	NoRoute string
	// MissingCompanions is the number of pods that request a companion that does not exist.
	MissingCompanions int
	// Contested is a field that another client keeps changing, such as "spec.replicas of the Deployment", or empty. The operator corrects it
	// again after CorrectedAfter.
	Contested      string
	CorrectedAfter time.Duration
	// Held is an object of a deleted Echo without pods that another controller keeps. It is nil if there is no such object.
	Held *Held
}

// Held is an object that is being deleted, but has another controller's finalizer.
type Held struct {
	Kind, Finalizer string
	Object          client.Object
}

// Unserved is a kind that the operator cannot use. Refused is the reason, or empty if the cluster does not serve the kind.
type Unserved struct{ Kind, Refused string }

// Record stores an object if the Echo's status depends on the object.
func (o *Observation) Record(object client.Object) {
	switch object := object.(type) {
	case *appsv1.Deployment:
		o.Deployment = object
	case *corev1.Service:
		o.Service = object
	case *networkingv1.Ingress:
		o.Ingress = object
	case *gatewayv1.HTTPRoute:
		o.HTTPRoute = object
	case *gatewayv1.GRPCRoute:
		o.GRPCRoute = object
	case *gatewayv1.BackendTLSPolicy:
		o.BackendTLSPolicy = object
	}
}

// routes returns the existing routes of an Echo.
func (o *Observation) routes() []client.Object {
	var routes []client.Object
	if o.HTTPRoute != nil {
		routes = append(routes, o.HTTPRoute)
	}
	if o.GRPCRoute != nil {
		routes = append(routes, o.GRPCRoute)
	}
	return routes
}
