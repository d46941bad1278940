package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// DroppedTraffic returns the sources outside the namespace whose traffic the Echo's NetworkPolicy blocks. If any peer of the policy may be
// outside the namespace, DroppedTraffic returns nothing, because that peer could be any of these sources.
func DroppedTraffic(echo *v1.Echo) []string {
	policy := echo.Spec.NetworkPolicy
	if policy == nil || !policy.Enabled || slices.ContainsFunc(policy.From, isOutside) {
		return nil
	}
	var dropped []string
	for _, source := range []struct {
		name  string
		leads bool
	}{
		{"the Ingress", children.HasIngress(echo)},
		{"the Gateways", children.HasGateway(echo)},
		{"node ports", echo.Spec.Service.Type == corev1.ServiceTypeNodePort},
		{"the load balancer", echo.Spec.Service.Type == corev1.ServiceTypeLoadBalancer},
		{"Prometheus", HasMonitoring(echo)},
	} {
		if source.leads {
			dropped = append(dropped, source.name)
		}
	}
	return dropped
}

// isOutside reports whether a peer may be outside the Echo's namespace.
func isOutside(peer networkingv1.NetworkPolicyPeer) bool {
	return peer.NamespaceSelector != nil || peer.IPBlock != nil
}
