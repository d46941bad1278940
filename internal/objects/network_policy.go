package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// networkPolicy returns an Echo's NetworkPolicy, or nil if it is disabled. The policy lets the same peers both send requests to the echo
// servers and companions and scrape their metrics. It allows no traffic from these pods.
func networkPolicy(echo *v1.Echo, config Config) any {
	desired := echo.Spec.NetworkPolicy
	if desired == nil || !isTrue(desired.Enabled) {
		return nil
	}
	allow := networkingv1ac.NetworkPolicyIngressRule().
		WithFrom(asConfigurations[networkingv1ac.NetworkPolicyPeerApplyConfiguration](desired.From)...)
	if len(desired.From) == 0 { // a rule without peers would allow traffic from anywhere
		allow.WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector()))
	}
	requestPorts := []*networkingv1ac.NetworkPolicyPortApplyConfiguration{tcpPort(echo.Spec.Port)}
	if hasTLS(&echo.Spec) {
		requestPorts = append(requestPorts, tcpPort(httpsPort(echo.Spec.TLS)))
	}
	ports := slices.Clone(requestPorts)
	if config.Images.FirstParty(config.Images.Of(echo)) { // other images do not have a metrics port
		ports = slices.Insert(ports, 1, tcpPort(metricsPort(&echo.Spec)))
	}
	allow.WithPorts(ports...)
	rules := []*networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration{allow}
	if len(echo.Spec.Checks) > 0 { // they send requests directly to the pods
		rules = append(rules, networkingv1ac.NetworkPolicyIngressRule().
			WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector().
				WithMatchLabels(InstanceLabels(echo)).
				WithMatchLabels(map[string]string{LabelName: checkNameValue}))).
			WithPorts(requestPorts...))
	}
	return networkingv1ac.NetworkPolicy(echo.Name, echo.Namespace).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().
				WithMatchLabels(InstanceLabels(echo)).
				WithMatchExpressions(metav1ac.LabelSelectorRequirement().
					WithKey(LabelName).
					WithOperator(metav1.LabelSelectorOpIn).
					WithValues(nameValue, companionNameValue))).
			WithPolicyTypes(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress).
			WithIngress(rules...))
}

func tcpPort(port int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port))
}

// noEgress sets an empty list of egress rules in a NetworkPolicy, so that rules from other clients are removed. An apply configuration
// would omit the empty list.
func noEgress(policy *Child) {
	if policy.Desired != nil {
		policy.Desired.Object["spec"].(map[string]any)["egress"] = []any{}
	}
}

// DroppedTraffic returns the sources outside the namespace whose traffic the Echo's NetworkPolicy blocks. If any peer of the policy may be
// outside the namespace, DroppedTraffic returns nothing, because that peer could be any of these sources.
func DroppedTraffic(echo *v1.Echo) []string {
	policy := echo.Spec.NetworkPolicy
	mayBeOutside := func(peer networkingv1.NetworkPolicyPeer) bool {
		return peer.NamespaceSelector != nil || peer.IPBlock != nil
	}
	if policy == nil || !isTrue(policy.Enabled) || slices.ContainsFunc(policy.From, mayBeOutside) {
		return nil
	}
	var dropped []string
	addIf := func(leads bool, source string) {
		if leads {
			dropped = append(dropped, source)
		}
	}
	addIf(HasIngress(echo), "the Ingress")
	addIf(HasGateway(echo), "the Gateways")
	addIf(echo.Spec.Service.Type == corev1.ServiceTypeNodePort, "node ports")
	addIf(echo.Spec.Service.Type == corev1.ServiceTypeLoadBalancer, "the load balancer")
	addIf(HasMonitoring(echo), "Prometheus")
	return dropped
}
