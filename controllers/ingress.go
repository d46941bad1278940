package controllers

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// ingress makes an Echo's Service reachable from outside the cluster; nil if that is not wanted.
func ingress(echo *v1.Echo) *networkingv1ac.IngressApplyConfiguration {
	if !hasIngress(echo) {
		return nil
	}
	wanted := echo.Spec.Ingress
	backend := networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
		WithName(echo.Name).
		WithPort(networkingv1ac.ServiceBackendPort().WithName(portName)))
	spec := networkingv1ac.IngressSpec().WithRules(networkingv1ac.IngressRule().
		WithHost(wanted.Host).
		WithHTTP(networkingv1ac.HTTPIngressRuleValue().WithPaths(networkingv1ac.HTTPIngressPath().
			WithPath(ingressPath(wanted)).
			WithPathType(networkingv1.PathTypePrefix).
			WithBackend(backend))))
	if wanted.ClassName != "" {
		spec.WithIngressClassName(wanted.ClassName)
	}
	if wanted.TLS {
		spec.WithTLS(ingressTLS(wanted))
	}
	return networkingv1ac.Ingress(echo.Name, echo.Namespace).
		WithLabels(childLabels(echo)).
		WithAnnotations(wanted.Annotations).
		WithOwnerReferences(ownedBy(echo)).
		WithSpec(spec)
}

func hasIngress(echo *v1.Echo) bool { return echo.Spec.Ingress != nil && echo.Spec.Ingress.Enabled }

// ingressTLS names the certificate. Without a Secret it is empty, which routers, OpenShift's among them, take for their
// default certificate.
func ingressTLS(wanted *v1.EchoIngress) *networkingv1ac.IngressTLSApplyConfiguration {
	tls := networkingv1ac.IngressTLS()
	if wanted.TLSSecretName != "" {
		tls.WithHosts(wanted.Host).WithSecretName(wanted.TLSSecretName)
	}
	return tls
}

func ingressPath(wanted *v1.EchoIngress) string {
	if wanted.Path == "" {
		return "/"
	}
	return wanted.Path
}
