package support

import (
	"fmt"
	"math/rand"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Generator generates valid Echoes with random fields.
type Generator struct{ *rand.Rand }

// NewGenerator returns a Generator that always generates the same Echoes.
func NewGenerator() Generator { return Generator{rand.New(rand.NewSource(1))} }

// maybe calls a function with a probability of 50%.
func (g Generator) maybe(set func()) {
	if g.Intn(2) == 0 {
		set()
	}
}

// text returns a string of characters that are special in JSON, YAML, or Kubernetes. The string is sometimes empty.
func (g Generator) text() string {
	all := []string{"", "a", "$(POD_NAME)", "$$", "\"", "\\", "<b>&", "a: b\n- c", "ä€😀", "\t", "0", "null", "\u2028"}
	return all[g.Intn(len(all))] + all[g.Intn(len(all))]
}

// annotations returns up to three annotations, or nil.
func (g Generator) annotations() map[string]string {
	if g.Intn(3) == 0 {
		return nil
	}
	m := map[string]string{}
	for i := range g.Intn(4) {
		m[fmt.Sprintf("example.com/k%d", i)] = g.text()
	}
	return m
}

// some returns up to three random values.
func some[T any](g Generator, one func(i int) T) []T {
	var all []T
	for i := range g.Intn(4) {
		all = append(all, one(i))
	}
	return all
}

// Echo returns the next Echo.
func (g Generator) Echo() *v1.Echo {
	e := EchoOfCompanions(func(e *v1.Echo) { e.UID = "1234" })
	e.Spec.Replicas, e.Spec.Port = new(g.Int31n(21)), 1+g.Int31n(65535)
	e.Spec.PodLabels, e.Spec.PodAnnotations, e.Spec.NodeSelector = g.labels(), g.annotations(), g.labels()
	g.maybe(func() { e.Spec.CommonMetadata = &v1.CommonMetadata{Labels: g.labels(), Annotations: g.annotations()} })
	g.maybe(func() { e.Spec.Image = "registry.example.com/other:1" })
	g.maybe(func() { e.Spec.ImagePullPolicy = corev1.PullNever })
	g.maybe(func() { e.Spec.PriorityClassName = "high" })
	g.maybe(func() { e.Spec.ServiceAccountName = "mesh" })
	g.maybe(func() { e.Spec.Response = g.response() })
	g.maybe(func() { e.Spec.Server = v1.EchoServer{Controls: v1.ControlsNone, Identity: new(g.Intn(2) == 0)} })
	e.Spec.Args = some(g, func(int) string { return g.text() })
	e.Spec.Env = some(g, g.variable)
	e.Spec.ImagePullSecrets = some(g, func(i int) v1.ImagePullSecret { return v1.ImagePullSecret{Name: fmt.Sprintf("s%d", i)} })
	g.objects(&e.Spec)
	g.scheduling(&e.Spec)
	g.security(&e.Spec)
	return e
}

func (g Generator) labels() v1.Labels {
	labels := v1.Labels{}
	for key, value := range g.annotations() {
		labels[key] = v1.LabelValue(value)
	}
	return labels
}

func (g Generator) response() *v1.EchoResponse {
	return &v1.EchoResponse{StatusCode: []int32{0, 200, 599}[g.Intn(3)], DelayMilliseconds: g.Int31n(3), Body: g.text(),
		Headers: some(g, func(i int) v1.EchoHeader { return v1.EchoHeader{Name: fmt.Sprintf("X-%d", i), Value: g.text()} }),
		Faults: some(g, func(i int) v1.EchoFault {
			return v1.EchoFault{Percentage: 1 + g.Int31n(100), StatusCode: int32(500 + i)}
		})}
}

// variable returns an environment variable. Its name may be one that the operator also sets.
func (g Generator) variable(i int) corev1.EnvVar {
	names := [][]string{{"A", "ECHO_HTTP_ADDR"}, {"B", "ECHO_ADMIN_ADDR"}, {"C", "ECHO_RESPONSE_BODY"}}
	variable := corev1.EnvVar{Name: names[i][g.Intn(2)], Value: g.text()}
	g.maybe(func() {
		variable.Value, variable.ValueFrom = "", &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			Name: "s", Key: "k", Optional: new(g.Intn(2) == 0)}}
	})
	return variable
}

// objects configures the objects other than the Deployment.
func (g Generator) objects(spec *v1.EchoSpec) {
	spec.Service.Annotations = g.annotations()
	g.maybe(func() { spec.Service.PortName, spec.Service.AppProtocol = "web", "kubernetes.io/h2c" })
	g.maybe(func() {
		spec.Service.Type, spec.Service.Port = corev1.ServiceTypeLoadBalancer, 1+g.Int31n(65535)
		spec.Service.ExternalTrafficPolicy, spec.Service.LoadBalancerClass = corev1.ServiceExternalTrafficPolicyLocal, "example.com/class"
	})
	g.maybe(func() {
		spec.Service.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}[g.Intn(2):]
		spec.Service.IPFamilyPolicy = corev1.IPFamilyPolicyPreferDualStack
	})
	g.maybe(func() {
		spec.Service.LoadBalancerSourceRanges = some(g, func(i int) string { return fmt.Sprintf("10.%d.0.0/16", i) })
		spec.Service.InternalTrafficPolicy, spec.Service.SessionAffinity = corev1.ServiceInternalTrafficPolicyLocal,
			corev1.ServiceAffinityClientIP
	})
	g.maybe(func() {
		spec.TLS = &v1.EchoTLS{SecretName: []string{"", "certificate"}[g.Intn(2)], Port: 8443, ServicePort: 443,
			ClientCertificate: v1.ClientCertificateRequest}
	})
	g.maybe(func() {
		spec.Ingress = &v1.EchoIngress{Enabled: g.Intn(4) > 0, Host: "echo.example.com", TLS: g.Intn(2) == 0, Annotations: g.annotations(),
			Path: []string{"", "/", "/e/"}[g.Intn(3)], ClassName: []string{"", "nginx"}[g.Intn(2)]}
		if spec.Ingress.TLS {
			g.maybe(func() { spec.Ingress.TLSSecretName = "certificate" })
		}
	})
	g.maybe(func() {
		spec.DisruptionBudget = v1.EchoDisruptionBudget{Enabled: new(g.Intn(4) > 0), MaxUnavailable: new(g.Int31n(3))}
	})
	g.maybe(func() {
		spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: g.Intn(4) > 0, From: some(g, func(i int) networkingv1.NetworkPolicyPeer {
			return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: g.annotations()},
				PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"i": fmt.Sprint(i)}}}
		})}
	})
}

// scheduling configures the fields that determine where the pods run.
func (g Generator) scheduling(spec *v1.EchoSpec) {
	spec.Tolerations = some(g, func(i int) corev1.Toleration {
		return corev1.Toleration{Key: fmt.Sprintf("k%d", i), Operator: corev1.TolerationOpExists, TolerationSeconds: new(g.Int63n(3))}
	})
	spec.TopologySpreadConstraints = some(g, func(i int) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: fmt.Sprintf("t%d", i), WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{}}
	})
	g.maybe(func() {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1 + g.Int31n(100),
				PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: g.annotations()}}}}}}
	})
}

// security configures resources and security contexts.
func (g Generator) security(spec *v1.EchoSpec) {
	g.maybe(func() {
		spec.Resources = &corev1.ResourceRequirements{}
		g.maybe(func() {
			spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse([]string{"0.5Gi", "1e3", "128Mi"}[g.Intn(3)])}
		})
	})
	g.maybe(func() { spec.PodSecurityContext = &corev1.PodSecurityContext{FSGroup: new(g.Int63n(2))} })
	g.maybe(func() {
		spec.SecurityContext = &corev1.SecurityContext{Privileged: new(false),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	})
}
