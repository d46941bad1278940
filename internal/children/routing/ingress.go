package routing

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// Ingress returns the Ingress in front of the Service of an Echo, or nil if it is disabled.
func Ingress(echo *v1.Echo, _ children.Config) any {
	if !children.HasIngress(echo) {
		return nil
	}
	desired := echo.Spec.Ingress
	backend := networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
		WithName(echo.Name).
		WithPort(networkingv1ac.ServiceBackendPort().WithName(children.PortName)))
	spec := networkingv1ac.IngressSpec().WithRules(networkingv1ac.IngressRule().
		WithHost(desired.Host).
		WithHTTP(networkingv1ac.HTTPIngressRuleValue().WithPaths(networkingv1ac.HTTPIngressPath().
			WithPath(ingressPath(desired)).
			WithPathType(networkingv1.PathTypePrefix).
			WithBackend(backend))))
	if desired.ClassName != "" {
		spec.WithIngressClassName(desired.ClassName)
	}
	if desired.TLS {
		spec.WithTLS(ingressTLS(desired))
	}
	return networkingv1ac.Ingress(echo.Name, echo.Namespace).
		WithAnnotations(desired.Annotations).
		WithSpec(spec)
}

// RefineIngress sets how an Ingress changes.
func RefineIngress(ingress *children.Child) { ingress.Recreate = recreateIngress }

// recreateIngress reports whether an Ingress has to be recreated: its class is no longer set, and the API server sets the default class
// only when an Ingress is created.
func recreateIngress(want, _ map[string]any, owned *fieldpath.Set) bool {
	_, set, _ := unstructured.NestedString(want, "spec", "ingressClassName")
	return !set && owned.Has(fieldpath.MakePathOrDie("spec", "ingressClassName"))
}

// ingressTLS returns the certificate of an Ingress. An entry without a Secret makes routers, OpenShift's among them, use their
// default certificate.
func ingressTLS(desired *v1.EchoIngress) *networkingv1ac.IngressTLSApplyConfiguration {
	tls := networkingv1ac.IngressTLS()
	if desired.TLSSecretName != "" {
		tls.WithHosts(desired.Host).WithSecretName(desired.TLSSecretName)
	}
	return tls
}

// ingressPath returns the path prefix of an Ingress, which defaults to /.
func ingressPath(desired *v1.EchoIngress) string {
	if desired.Path == "" {
		return "/"
	}
	return desired.Path
}
