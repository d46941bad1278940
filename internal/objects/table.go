// Package objects builds the objects that an Echo is made of: its children, its companions, and the CronJobs of its checks. It also
// determines an Echo's URLs, which specs the operator rejects, and what the caches keep. Table lists the kinds of objects.
//
// The functions in this package send no requests.
package objects

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
	// Field is the part of an Echo that determines the object, as messages name it.
	Field string
	// NewObject returns an empty object of the Go type for the kind.
	NewObject func() client.Object

	// build returns an apply configuration without labels or an owner, or nil if an Echo does not request the kind. The build field itself is
	// nil if the Echo reconciler does not create the kind.
	build func(*v1.Echo, Config) any
	// refine sets the fields of a child that are specific to its kind, including values that an apply configuration cannot express. The refine
	// field is nil if there are no such fields.
	refine func(*Child)
}

// Table returns the kinds of objects that the operator creates. The kinds that the Echo reconciler creates come first, in creation order.
func Table() []Kind {
	gateways := GatewayGroupVersion()
	const whole = "spec status"
	return []Kind{ // the NetworkPolicy is first, so that pods never run without it
		{GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), Field: "spec.networkPolicy", Kept: "spec",
			NewObject: empty[networkingv1.NetworkPolicy], build: networkPolicy, refine: noEgress},
		{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Field: "spec.service", Kept: whole,
			NewObject: empty[corev1.Service], build: service, refine: refineService},
		{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Field: "the spec",
			NewObject: empty[appsv1.Deployment], build: deployment},
		{GroupVersionKind: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Field: "spec.disruptionBudget", Kept: whole,
			NewObject: empty[policyv1.PodDisruptionBudget], build: disruptionBudget},
		{GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Field: "spec.ingress", Kept: whole,
			NewObject: empty[networkingv1.Ingress], build: ingress, refine: refineIngress},
		{GroupVersionKind: gateways.WithKind(BackendTLSPolicyKind), Field: "spec.gateway.backendTLS", Kept: whole, Optional: true,
			NewObject: empty[gatewayv1.BackendTLSPolicy], build: backendTLSPolicy},
		{GroupVersionKind: gateways.WithKind(HTTPRouteKind), Field: "spec.gateway", Kept: whole, Optional: true,
			NewObject: empty[gatewayv1.HTTPRoute], build: httpRoute},
		{GroupVersionKind: gateways.WithKind(GRPCRouteKind), Field: "spec.gateway.grpc", Kept: whole, Optional: true,
			NewObject: empty[gatewayv1.GRPCRoute], build: grpcRoute},
		{GroupVersionKind: MonitoringGroupVersion().WithKind(podMonitorKind), Field: "the spec", Kept: "spec", Optional: true,
			NewObject: newPodMonitor},
		{GroupVersionKind: batchv1.SchemeGroupVersion.WithKind(cronJobKind), Field: "spec.checks",
			NewObject: NewCronJob},
	}
}

// Config holds the cluster-wide settings that affect the children of all Echoes.
type Config struct {
	Images Images
	// TLS holds the cluster's requirements for TLS endpoints. It affects only Echoes with TLS.
	TLS TLSProfile
	// Served holds the optional kinds that the cluster serves.
	Served Served
	// Routes is true if the cluster serves OpenShift Routes.
	Routes bool
}

// TLSProfile holds a cluster's requirements for TLS endpoints.
type TLSProfile struct {
	// MinVersion is the minimum TLS version, VersionTLS12 or VersionTLS13.
	MinVersion string
	// Ciphers contains the IANA names of the TLS 1.2 cipher suites.
	Ciphers []string
}

// Served holds the Gateway API kinds that the cluster serves and the operator may use. It never changes.
type Served map[string]bool

func empty[T any, P interface {
	*T
	client.Object
}]() client.Object {
	return P(new(T))
}

// Named reports whether objects of this kind have the same name as their Echo. The CronJobs of checks have their own names.
func (k Kind) Named() bool { return k.Kind != cronJobKind }

// Resource returns the API resource for the kind. A test compares it with the rules in the operator's role.
func (k Kind) Resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
	return plural
}

// Desired returns an Echo's children of the kinds that the cluster serves. An error indicates a bug in the operator, because the children
// of every valid Echo can be built.
func Desired(echo *v1.Echo, config Config) ([]Child, error) {
	kinds := kindsOfEcho(config.Served)
	all := make([]Child, len(kinds))
	for i, k := range kinds {
		all[i] = Child{Kind: k.Kind, Key: client.ObjectKeyFromObject(echo), NewObject: k.NewObject, Optional: k.Optional}
		if configuration := k.build(echo, config); configuration != nil {
			var err error
			if all[i].Desired, err = withMetadata(configuration, echo, childLabels(echo), childOwnerReference(echo)); err != nil {
				return nil, err
			}
		}
		if k.refine != nil {
			k.refine(&all[i])
		}
	}
	return all, nil
}

// FieldOf returns the Field of a kind, or "the spec" for kinds that are not in the table, such as the pods of companions.
func FieldOf(kind string) string {
	table := Table()
	i := slices.IndexFunc(table, func(k Kind) bool { return k.Kind == kind })
	if i < 0 {
		return "the spec"
	}
	return table[i].Field
}

// kindsOfEcho returns the kinds of children that the Echo reconciler creates in a cluster that serves the given optional kinds.
func kindsOfEcho(served Served) []Kind {
	return slices.DeleteFunc(Table(), func(k Kind) bool { return k.build == nil || k.Optional && !served[k.Kind] })
}

// Kinds returns an empty object of each kind of child in a cluster that serves the given optional kinds.
func Kinds(served Served) []client.Object {
	var objects []client.Object
	for _, k := range kindsOfEcho(served) {
		objects = append(objects, k.NewObject())
	}
	return objects
}

// Unserved returns the kinds that an Echo requests but that the cluster does not serve, in creation order.
func Unserved(echo *v1.Echo, served Served) []string {
	var missing []string
	for _, k := range Table() {
		if k.Optional && k.build != nil && !served[k.Kind] && k.build(echo, Config{}) != nil {
			missing = append(missing, k.Kind)
		}
	}
	return missing
}
