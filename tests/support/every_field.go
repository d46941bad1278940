package support

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// EveryField sets almost every field of an Echo's spec. It omits fields that conflict with other fields.
func EveryField(e *v1.Echo) {
	e.UID = "1234"
	e.Spec = v1.EchoSpec{
		Replicas:         new(int32(3)),
		Image:            "registry.example.com/other:1",
		Port:             443,
		Args:             []string{"-v"},
		ImagePullPolicy:  corev1.PullAlways,
		ImagePullSecrets: []v1.ImagePullSecret{{Name: "pull"}},
		Env:              []corev1.EnvVar{{Name: "A", Value: "b"}},
		Response: &v1.EchoResponse{StatusCode: 503, DelayMilliseconds: 20, Body: "costs $(5)",
			Headers: []v1.EchoHeader{{Name: "X-A", Value: "b"}}, Faults: []v1.EchoFault{{Percentage: 10, StatusCode: 502},
				{Percentage: 100, DelayMilliseconds: 5, MaxDelayMilliseconds: 50, Connection: v1.ConnectionTruncate, Failures: 2}}},
		Server:    v1.EchoServer{Controls: v1.ControlsFull, Identity: new(false)},
		Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}},
		Service:   everyServiceField(),
		TLS:       &v1.EchoTLS{SecretName: "certificate", Port: 8443, ServicePort: 443, ClientCertificate: v1.ClientCertificateRequire},
		Ingress: &v1.EchoIngress{Enabled: true, Host: "echo.example.com", Path: "/e", PathType: networkingv1.PathTypePrefix,
			ClassName: "nginx", TLS: true, TLSSecretName: "certificate", Annotations: map[string]string{"c": "d"}},
		Gateway: &v1.EchoGateway{Enabled: true,
			ParentRefs: []v1.EchoGatewayReference{{Name: "public", Namespace: "gateways", SectionName: "https"}, {Name: "own"}},
			Hostnames:  []string{"echo.example.com"}, Path: "/e", GRPC: &v1.EchoGatewayGRPC{Hostnames: []string{"grpc.example.com"}},
			BackendTLS: &v1.EchoGatewayBackendTLS{Hostname: "x.ns.svc", CAConfigMap: "ca"}, Annotations: map[string]string{"e": "f"}},
		DisruptionBudget: v1.EchoDisruptionBudget{MaxUnavailable: new(int32(2))},
		NetworkPolicy: &v1.EchoNetworkPolicy{Enabled: true, From: []networkingv1.NetworkPolicyPeer{
			{IPBlock: &networkingv1.IPBlock{CIDR: "10.1.0.0/16", Except: []string{"10.1.1.0/24"}}}}},
		Checks: []v1.EchoCheck{{Name: "path", Schedule: "@hourly", URL: "https://echo.example.com/e", Address: "192.0.2.1", CAConfigMap: "ca",
			Groups: []string{"client"}, Expect: []v1.EchoExpectation{{Fact: "client.address", Value: "kept"}}, DeadlineSeconds: 60}},
		NodeSelector: map[string]v1.LabelValue{"disk": "ssd"},
		Tolerations:  []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}}}}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}},
		PriorityClassName:  "high",
		ServiceAccountName: "mesh",
		PodLabels:          v1.Labels{"team": "a"},
		CommonMetadata:     &v1.CommonMetadata{Labels: v1.Labels{"cost-center": "1"}, Annotations: v1.Annotations{"example.org/owner": "us"}},
		PodAnnotations:     map[string]string{"note": "b"},
		PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(0))},
		SecurityContext:    &corev1.SecurityContext{RunAsUser: new(int64(0))},
	}
}

func everyServiceField() v1.EchoService {
	return v1.EchoService{
		Type:                     corev1.ServiceTypeLoadBalancer,
		Port:                     444,
		PortName:                 "web",
		AppProtocol:              "kubernetes.io/h2c",
		Annotations:              map[string]string{"a": "b"},
		ExternalTrafficPolicy:    corev1.ServiceExternalTrafficPolicyLocal,
		InternalTrafficPolicy:    corev1.ServiceInternalTrafficPolicyLocal,
		LoadBalancerClass:        "example.com/class",
		LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
		IPFamilies:               []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol},
		IPFamilyPolicy:           corev1.IPFamilyPolicyPreferDualStack,
		SessionAffinity:          corev1.ServiceAffinityClientIP,
	}
}
