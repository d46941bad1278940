package children

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// service returns the Service in front of the pods of an Echo.
func service(echo *v1.Echo, _ Images) any {
	wanted := echo.Spec.Service
	spec := corev1ac.ServiceSpec().
		WithType(wanted.Type).
		WithSelector(SelectorLabels(echo)).
		WithPorts(corev1ac.ServicePort().
			WithName(portName).
			WithProtocol(corev1.ProtocolTCP).
			WithPort(wanted.Port).
			WithTargetPort(intstr.FromString(portName)))
	if wanted.ExternalTrafficPolicy != "" {
		spec.WithExternalTrafficPolicy(wanted.ExternalTrafficPolicy)
	}
	if wanted.LoadBalancerClass != "" {
		spec.WithLoadBalancerClass(wanted.LoadBalancerClass)
	}
	return corev1ac.Service(echo.Name, echo.Namespace).
		WithAnnotations(wanted.Annotations).
		WithSpec(spec)
}

// serviceAnew reports whether a Service has to be created anew: the API server does not change the class of a load balancer. A class that
// others set, for example by default, stays.
func serviceAnew(want, have map[string]any, owned *fieldpath.Set) bool {
	for _, service := range []map[string]any{want, have} {
		if kind, _, _ := unstructured.NestedString(service, "spec", "type"); kind != string(corev1.ServiceTypeLoadBalancer) {
			return false
		}
	}
	wanted, set, _ := unstructured.NestedString(want, "spec", "loadBalancerClass")
	found, _, _ := unstructured.NestedString(have, "spec", "loadBalancerClass")
	if !set {
		return owned.Has(fieldpath.MakePathOrDie("spec", "loadBalancerClass"))
	}
	return wanted != found
}
