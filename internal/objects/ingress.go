// Package routing builds Ingresses and Gateway API routes, and determines an Echo's URLs.
package objects

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Ingress returns the Ingress in front of an Echo's Service, or nil if the Ingress is disabled.
func Ingress(echo *v1.Echo, config Config) any {
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
	if desired.Host != "" {
		rule.WithHost(desired.Host)
	}
	spec := networkingv1ac.IngressSpec().WithRules(rule)
	if desired.ClassName != "" {
		spec.WithIngressClassName(desired.ClassName)
	}
	if desired.TLS {
		spec.WithTLS(ingressTLS(desired, config.Routes))
	}
	return networkingv1ac.Ingress(echo.Name, echo.Namespace).
		WithAnnotations(desired.Annotations).
		WithSpec(spec)
}

// RefineIngress sets the function that reports whether an Ingress must be recreated.
func RefineIngress(ingress *Child) { ingress.Recreate = recreateIngress }

// recreateIngress reports whether an Ingress must be recreated because its class is no longer set. The API server sets the default class
// only when an Ingress is created.
func recreateIngress(want, _ map[string]any, owned *fieldpath.Set) bool {
	_, set, _ := unstructured.NestedString(want, "spec", "ingressClassName")
	return !set && owned.Has(fieldpath.MakePathOrDie("spec", "ingressClassName"))
}

// ingressTLS returns the TLS entry of an Ingress. If the cluster serves Routes, an entry without a Secret has no host. OpenShift uses the
// router's default certificate only for an entry without a host, and creates no Route for a host without a valid Secret
// (github.com/openshift/route-controller-manager/pkg/route/ingress). In other clusters, the host determines which requests get the default
// certificate.
func ingressTLS(desired *v1.EchoIngress, routes bool) *networkingv1ac.IngressTLSApplyConfiguration {
	tls := networkingv1ac.IngressTLS()
	if desired.Host != "" && (desired.TLSSecretName != "" || !routes) {
		tls.WithHosts(desired.Host)
	}
	if desired.TLSSecretName != "" {
		tls.WithSecretName(desired.TLSSecretName)
	}
	return tls
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

// ingressPath returns the path of an Ingress, which defaults to /.
func ingressPath(desired *v1.EchoIngress) string { return cmp.Or(desired.Path, "/") }

// pathType returns the path type of an Ingress, which defaults to Prefix.
func pathType(desired *v1.EchoIngress) networkingv1.PathType {
	return cmp.Or(desired.PathType, networkingv1.PathTypePrefix)
}

// URL returns the URL for clients inside the cluster.
func URL(echo *v1.Echo) string { return internalURL(echo, echo.Spec.Service.Port) }

// LiveURL returns the URL of the echo servers behind an existing Service, regardless of the spec. The URL is empty if the Service has no
// HTTP port.
func LiveURL(echo *v1.Echo, service *corev1.Service) string {
	for _, port := range service.Spec.Ports {
		if port.Name == ServicePortName(echo) {
			return internalURL(echo, port.Port)
		}
	}
	return ""
}

func internalURL(echo *v1.Echo, port int32) string {
	return serviceURL(echo.Name+"."+echo.Namespace+".svc", port)
}

// ExternalURL returns the URL for clients outside the cluster. The Ingress's URL takes precedence, then the URL of a Gateway that accepted
// the HTTPRoute, then the load balancer's URL. The external URL is empty if none of these URLs exists, for example because the load
// balancer has no address yet. If there is no HTTPRoute, route is nil.
func ExternalURL(echo *v1.Echo, service *corev1.Service, route *gatewayv1.HTTPRoute, gateways Gateways) string {
	if url := ingressURL(echo); url != "" {
		return url
	}
	if url := gatewayURL(echo, route, gateways); url != "" {
		return url
	}
	if echo.Spec.Service.Type != corev1.ServiceTypeLoadBalancer {
		return ""
	}
	for _, address := range service.Status.LoadBalancer.Ingress {
		if host := cmp.Or(address.Hostname, address.IP); host != "" {
			return serviceURL(host, echo.Spec.Service.Port)
		}
	}
	return ""
}

// serviceURL returns the URL of a Service at a host name or an IP address.
func serviceURL(host string, port int32) string { return hostURL("http", host, port) }

// hostURL returns the URL for a port at a host name or an IP address. The scheme is http or https, and the URL omits the scheme's default
// port.
func hostURL(scheme, host string, port int32) string {
	usual := map[string]int32{"http": 80, "https": 443}
	if port != usual[scheme] {
		host = net.JoinHostPort(host, strconv.Itoa(int(port)))
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return scheme + "://" + host
}

// ingressURL returns the URL of an Echo's Ingress. The URL is empty if there is no Ingress, if the host name is missing or is a wildcard,
// or if the path may be a pattern.
func ingressURL(echo *v1.Echo) string {
	ingress := echo.Spec.Ingress
	if !HasIngress(echo) || ingress.Host == "" || strings.HasPrefix(ingress.Host, "*.") ||
		pathType(ingress) == networkingv1.PathTypeImplementationSpecific {
		return ""
	}
	path := ingressPath(ingress)
	if pathType(ingress) == networkingv1.PathTypePrefix {
		path = strings.TrimSuffix(path, "/")
	}
	scheme := "http"
	if ingress.TLS {
		scheme = "https"
	}
	return scheme + "://" + ingress.Host + path
}
