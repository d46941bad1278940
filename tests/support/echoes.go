// Package support contains helpers that the test suites share.
package support

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Echo returns an Echo with two replicas and the schema's defaults, after applying changes.
func Echo(namespace, name string, changes ...func(*v1.Echo)) *v1.Echo {
	echo := &v1.Echo{
		APIVersion: v1.GroupVersion.String(), Kind: "Echo",
		Namespace: namespace, Name: name,
		Spec: v1.EchoSpec{
			Replicas:         new(int32(2)),
			Port:             8080,
			Server:           v1.EchoServer{Controls: v1.ControlsSafe, Identity: new(true)},
			Service:          v1.EchoService{Type: "ClusterIP", Port: 80},
			DisruptionBudget: v1.EchoDisruptionBudget{Enabled: new(true), MaxUnavailable: new(int32(1))},
		},
	}
	for _, change := range changes {
		change(echo)
	}
	return echo
}

// PodWithCompanionLabel returns a pod on node "n" that requests a companion from Echo "x".
func PodWithCompanionLabel(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		Namespace: "ns", Name: "web-0", UID: "u", Labels: map[string]string{v1.CompanionLabel: "x", "app": "web"},
		Spec: corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// EchoOfCompanions returns the Echo that the pod from PodWithCompanionLabel names.
func EchoOfCompanions(changes ...func(*v1.Echo)) *v1.Echo {
	return Echo("ns", "x", append([]func(*v1.Echo){func(e *v1.Echo) { e.Finalizers = []string{v1.Finalizer} }}, changes...)...)
}

// Variants returns Echoes that set no field, almost every field of built-in kinds, each of these fields alone, and fields to empty values.
func Variants() []*v1.Echo {
	every := EchoOfCompanions(EveryField, func(e *v1.Echo) { e.Spec.Gateway = nil })
	all := []*v1.Echo{EchoOfCompanions(), every, EchoOfCompanions(emptyFields)}
	for i := range reflect.TypeFor[v1.EchoSpec]().NumField() {
		all = append(all, EchoOfCompanions(func(e *v1.Echo) {
			reflect.ValueOf(&e.Spec).Elem().Field(i).Set(reflect.ValueOf(every.DeepCopy().Spec).Field(i))
		}))
	}
	for _, e := range all {
		e.UID = "1234"
	}
	return all
}

// emptyFields sets fields to values that an API server or a client might treat like missing values.
func emptyFields(e *v1.Echo) {
	e.Spec.Replicas, e.Spec.DisruptionBudget.MaxUnavailable = new(int32(0)), new(int32(0))
	e.Spec.PodLabels, e.Spec.PodAnnotations, e.Spec.NodeSelector = v1.Labels{"a": ""}, map[string]string{}, map[string]v1.LabelValue{}
	e.Spec.CommonMetadata, e.Spec.Service.Annotations = &v1.CommonMetadata{}, map[string]string{"a": ""}
	e.Spec.Args = []string{"", "$$", "\u2028"}
	e.Spec.Env = []corev1.EnvVar{{Name: "A"}, {Name: "ECHO_RESPONSE_BODY", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{Name: "s", Key: "k", Optional: new(false)}}}}
	e.Spec.Response, e.Spec.TLS = &v1.EchoResponse{}, &v1.EchoTLS{}
	e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a", TLS: &v1.EchoIngressTLS{Enabled: new(true)}}
	e.Spec.Resources, e.Spec.Affinity = &corev1.ResourceRequirements{}, &corev1.Affinity{}
	e.Spec.PodSecurityContext, e.Spec.SecurityContext = &corev1.PodSecurityContext{}, &corev1.SecurityContext{Privileged: new(false)}
	e.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(0))}}
	e.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "t",
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{}}}
	e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true), From: []networkingv1.NetworkPolicyPeer{
		{NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{}}}}}
}

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
		TLS:       &v1.EchoTLS{SecretName: "certificate", Port: 8443, ClientCertificate: v1.ClientCertificateRequire},
		Ingress: &v1.EchoIngress{Enabled: new(true), Host: "echo.example.com", Path: "/e", PathType: networkingv1.PathTypePrefix,
			ClassName: "nginx", TLS: &v1.EchoIngressTLS{Enabled: new(true), SecretName: "certificate"}, Annotations: map[string]string{"c": "d"}},
		Gateway: &v1.EchoGateway{Enabled: new(true),
			ParentRefs: []v1.EchoGatewayReference{{Name: "public", Namespace: "gateways", SectionName: "https"}, {Name: "own"}},
			Hostnames:  []string{"echo.example.com"}, Path: "/e", GRPC: &v1.EchoGatewayGRPC{Hostnames: []string{"grpc.example.com"}},
			BackendTLS: &v1.EchoGatewayBackendTLS{Hostname: "x.ns.svc", CAConfigMap: "ca"}, Annotations: map[string]string{"e": "f"}},
		DisruptionBudget: v1.EchoDisruptionBudget{MaxUnavailable: new(int32(2))},
		NetworkPolicy: &v1.EchoNetworkPolicy{Enabled: new(true), From: []networkingv1.NetworkPolicyPeer{
			{IPBlock: &networkingv1.IPBlock{CIDR: "10.1.0.0/16", Except: []string{"10.1.1.0/24"}}}}},
		Checks: []v1.EchoCheck{{Name: "path", Schedule: "@hourly", URL: "https://echo.example.com/e", Address: "192.0.2.1", CAConfigMap: "ca",
			Groups: []string{"client"},
			Expect: []v1.EchoExpectation{{Fact: "client.address", Operator: "In", Values: []string{"kept"}}}, DeadlineSeconds: 60}},
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
		LoadBalancerClass:        "example.com/class",
		LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
		IPFamilies:               []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol},
		IPFamilyPolicy:           corev1.IPFamilyPolicyPreferDualStack,
	}
}
