package objects

import (
	"cmp"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// ingress returns the Ingress in front of an Echo's Service, or nil if the Ingress is disabled.
func ingress(echo *v1.Echo, config Config) any {
	if !HasIngress(echo) {
		return nil
	}
	desired := echo.Spec.Ingress
	backend := networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
		WithName(echo.Name).
		WithPort(networkingv1ac.ServiceBackendPort().WithNumber(echo.Spec.Service.Port)))
	rule := networkingv1ac.IngressRule().WithHTTP(networkingv1ac.HTTPIngressRuleValue().WithPaths(networkingv1ac.HTTPIngressPath().
		WithPath(ingressPath(desired)).
		WithPathType(pathType(desired)).
		WithBackend(backend)))
	setIfGiven(rule.WithHost, desired.Host)
	spec := networkingv1ac.IngressSpec().WithRules(rule)
	setIfGiven(spec.WithIngressClassName, desired.ClassName)
	if servesTLS(desired) {
		tls := networkingv1ac.IngressTLS()
		// If the cluster serves Routes, an entry without a Secret has no host. OpenShift uses the router's default certificate only for an entry
		// without a host, and creates no Route for a host without a valid Secret
		// (github.com/openshift/route-controller-manager/pkg/route/ingress). In other clusters, the host determines which requests get the
		// default certificate.
		if desired.Host != "" && (desired.TLS.SecretName != "" || !config.Routes) {
			tls.WithHosts(desired.Host)
		}
		setIfGiven(tls.WithSecretName, desired.TLS.SecretName)
		spec.WithTLS(tls)
	}
	return networkingv1ac.Ingress(echo.Name, echo.Namespace).
		WithAnnotations(desired.Annotations).
		WithSpec(spec)
}

// refineIngress makes an Ingress be recreated if its class is no longer set. The API server sets the default class only at creation.
func refineIngress(ingress *Child) {
	ingress.Recreate = func(want, _ map[string]any, owned *fieldpath.Set) bool {
		return specText(want, "ingressClassName") == "" && owned.Has(fieldpath.MakePathOrDie("spec", "ingressClassName"))
	}
}

// NoRoute explains why OpenShift creates no Route for an Echo's Ingress, or returns an empty string.
func NoRoute(echo *v1.Echo, config Config) string {
	switch {
	case !config.Routes || !HasIngress(echo):
		return ""
	case echo.Spec.Ingress.Host == "":
		return "OpenShift creates no Route for an Ingress without a host: set spec.ingress.host."
	case pathType(echo.Spec.Ingress) == networkingv1.PathTypeExact:
		return "OpenShift creates no Route for an Ingress with the pathType Exact: use Prefix."
	}
	return ""
}

func servesTLS(desired *v1.EchoIngress) bool {
	return desired.TLS != nil && isTrue(desired.TLS.Enabled)
}

func ingressPath(desired *v1.EchoIngress) string { return cmp.Or(desired.Path, "/") }

func pathType(desired *v1.EchoIngress) networkingv1.PathType {
	return cmp.Or(desired.PathType, networkingv1.PathTypePrefix)
}
