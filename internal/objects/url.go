package objects

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// URL returns the URL for clients inside the cluster.
func URL(echo *v1.Echo) string { return internalURL(echo, echo.Spec.Service.Port) }

// LiveURL returns the URL of the echo servers behind an existing Service, regardless of the spec, or "" if the Service has no HTTP port.
func LiveURL(echo *v1.Echo, service *corev1.Service) string {
	for _, port := range service.Spec.Ports {
		if port.Name == servicePortName(echo) {
			return internalURL(echo, port.Port)
		}
	}
	return ""
}

func internalURL(echo *v1.Echo, port int32) string {
	return hostURL("http", echo.Name+"."+echo.Namespace+".svc", port)
}

// ExternalURL returns the URL for clients outside the cluster. The Ingress's URL takes precedence, then the URL of a Gateway that accepted
// the HTTPRoute, then the load balancer's URL. The external URL is empty if none of these URLs exists, for example because the load
// balancer has no address yet. If there is no HTTPRoute, route is nil.
func ExternalURL(echo *v1.Echo, service *corev1.Service, route *gatewayv1.HTTPRoute, gateways Gateways) string {
	url := cmp.Or(ingressURL(echo), gatewayURL(echo, route, gateways))
	if url != "" || echo.Spec.Service.Type != corev1.ServiceTypeLoadBalancer {
		return url
	}
	for _, address := range service.Status.LoadBalancer.Ingress {
		if host := cmp.Or(address.Hostname, address.IP); host != "" {
			return hostURL("http", host, echo.Spec.Service.Port)
		}
	}
	return ""
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
	if servesTLS(ingress) {
		scheme = "https"
	}
	return scheme + "://" + ingress.Host + path
}

// hostURL returns the URL for a port at a host name or an IP address. The scheme is http or https. The URL omits its default port.
func hostURL(scheme, host string, port int32) string {
	usual := map[string]int32{"http": 80, "https": 443}
	if port != usual[scheme] {
		host = net.JoinHostPort(host, strconv.Itoa(int(port)))
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return scheme + "://" + host
}

// Gateways holds the existing Gateways of an Echo.
type Gateways map[client.ObjectKey]*gatewayv1.Gateway

// GatewayKey returns the key of the Gateway to which an Echo refers.
func GatewayKey(echo *v1.Echo, parent v1.EchoGatewayReference) client.ObjectKey {
	return client.ObjectKey{Namespace: cmp.Or(parent.Namespace, echo.Namespace), Name: parent.Name}
}

// gatewayURL returns an Echo's URL at the first of the Echo's Gateways that has accepted the Echo's HTTPRoute. The URL uses HTTPS if a
// listener offers it. The URL is empty if there is no such Gateway, or if neither a host name nor an address is known.
func gatewayURL(echo *v1.Echo, route *gatewayv1.HTTPRoute, gateways Gateways) string {
	if !HasGateway(echo) || route == nil {
		return ""
	}
	for _, parent := range echo.Spec.Gateway.ParentRefs {
		gateway := gateways[GatewayKey(echo, parent)]
		isAccepted := func(conditions []metav1.Condition) bool {
			return meta.IsStatusConditionTrue(conditions, string(gatewayv1.RouteConditionAccepted))
		}
		if gateway == nil || !slices.ContainsFunc(RouteConditions(route.Status.RouteStatus, echo, parent), isAccepted) {
			continue
		}
		for _, scheme := range []string{"https", "http"} {
			if url := urlAt(gateway, scheme, parent.SectionName, echo); url != "" {
				return url + strings.TrimSuffix(echo.Spec.Gateway.Path, "/")
			}
		}
	}
	return ""
}

// urlAt returns an Echo's URL at a Gateway's first listener that serves the given scheme and admits the Echo's HTTPRoute. If section is
// set, the listener must have that name. The URL is empty if there is no such listener.
func urlAt(gateway *gatewayv1.Gateway, scheme, section string, echo *v1.Echo) string {
	for i := range gateway.Spec.Listeners {
		listener := &gateway.Spec.Listeners[i]
		if string(listener.Protocol) != strings.ToUpper(scheme) || section != "" && section != string(listener.Name) ||
			!admits(listener.AllowedRoutes, gateway.Namespace == echo.Namespace) {
			continue
		}
		if host := listenerHost(listener, echo.Spec.Gateway.Hostnames, gateway.Status.Addresses); host != "" {
			return hostURL(scheme, host, listener.Port)
		}
	}
	return ""
}

// admits reports whether a listener can admit an HTTPRoute, given whether the HTTPRoute is in the Gateway's namespace. A namespace selector
// counts as a match, because the operator does not know which namespaces match it.
func admits(allowed *gatewayv1.AllowedRoutes, sameNamespace bool) bool {
	allowed = cmp.Or(allowed, &gatewayv1.AllowedRoutes{})
	isHTTPRoute := func(kind gatewayv1.RouteGroupKind) bool { return kind.Kind == "HTTPRoute" }
	if len(allowed.Kinds) > 0 && !slices.ContainsFunc(allowed.Kinds, isHTTPRoute) {
		return false
	}
	namespaces := cmp.Or(allowed.Namespaces, &gatewayv1.RouteNamespaces{})
	from := *cmp.Or(namespaces.From, new(gatewayv1.NamespacesFromSame))
	return from == gatewayv1.NamespacesFromAll || from == gatewayv1.NamespacesFromSelector ||
		from == gatewayv1.NamespacesFromSame && sameNamespace
}

// RouteConditions returns each controller's conditions in a route's status for an Echo's Gateway, or the listener that the Echo names.
func RouteConditions(status gatewayv1.RouteStatus, echo *v1.Echo, parent v1.EchoGatewayReference) [][]metav1.Condition {
	var all [][]metav1.Condition
	for _, each := range status.Parents {
		reported := referenceOf(each.ParentRef)
		if isGateway(each.ParentRef) && GatewayKey(echo, reported) == GatewayKey(echo, parent) && reported.SectionName == parent.SectionName {
			all = append(all, each.Conditions)
		}
	}
	return all
}

// PolicyConditions returns the conditions that each controller reports in a policy's status for a Gateway of the Echo, regardless of the
// listener. Some controllers, such as Traefik 3.6, report the policy's namespace as the Gateway's namespace.
func PolicyConditions(status gatewayv1.PolicyStatus, echo *v1.Echo, parent v1.EchoGatewayReference) [][]metav1.Condition {
	desired := GatewayKey(echo, parent)
	var all [][]metav1.Condition
	for _, each := range status.Ancestors {
		reported := GatewayKey(echo, referenceOf(each.AncestorRef))
		if isGateway(each.AncestorRef) && reported.Name == desired.Name && (reported.Namespace == desired.Namespace ||
			reported.Namespace == echo.Namespace) {
			all = append(all, each.Conditions)
		}
	}
	return all
}

// referenceOf converts a parent reference in a status to the type that the Echo API uses.
func referenceOf(reference gatewayv1.ParentReference) v1.EchoGatewayReference {
	return v1.EchoGatewayReference{
		Name:        string(reference.Name),
		Namespace:   string(*cmp.Or(reference.Namespace, new(gatewayv1.Namespace))),
		SectionName: string(*cmp.Or(reference.SectionName, new(gatewayv1.SectionName))),
	}
}

func isGateway(reference gatewayv1.ParentReference) bool {
	return reference.Kind == nil || *reference.Kind == GatewayKind
}

// listenerHost returns a host for which a listener forwards requests to a route: the first name that they share, or an address of the
// Gateway if neither has a name. An empty list stands for all names. If no such host exists, the result is empty.
func listenerHost(listener *gatewayv1.Listener, names []string, addresses []gatewayv1.GatewayStatusAddress) string {
	own := string(*cmp.Or(listener.Hostname, new(gatewayv1.Hostname)))
	for _, name := range append([]string{own}, names...) {
		isShared := matchesHost(own, name) &&
			(len(names) == 0 || slices.ContainsFunc(names, func(each string) bool { return matchesHost(each, name) }))
		if isShared && name != "" && !strings.HasPrefix(name, "*.") {
			return name
		}
	}
	if own == "" && len(names) == 0 && len(addresses) > 0 {
		return addresses[0].Value
	}
	return ""
}

// matchesHost reports whether a host name, such as *.example.com, matches a name. An empty host name matches all names.
func matchesHost(host, name string) bool {
	suffix, wildcard := strings.CutPrefix(host, "*")
	return host == "" || host == name || wildcard && strings.HasSuffix(name, suffix)
}

// AttachesTo reports whether an Echo refers to the given Gateway.
func AttachesTo(echo *v1.Echo, gateway metav1.Object) bool {
	key := client.ObjectKey{Namespace: gateway.GetNamespace(), Name: gateway.GetName()}
	return HasGateway(echo) && slices.ContainsFunc(echo.Spec.Gateway.ParentRefs,
		func(parent v1.EchoGatewayReference) bool { return GatewayKey(echo, parent) == key })
}
