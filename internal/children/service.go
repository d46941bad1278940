package children

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

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
