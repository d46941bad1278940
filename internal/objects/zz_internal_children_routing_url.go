package objects

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

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
