package e2e

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// variableFrom returns a change that adds an environment variable from a source.
func variableFrom(source corev1.EnvVarSource) func(*v1.EchoSpec) {
	return func(s *v1.EchoSpec) { s.Env = []corev1.EnvVar{{Name: "X", ValueFrom: &source}} }
}

func secretKey(name string) corev1.EnvVarSource {
	return corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Name: name, Key: "x"}}
}

func tooMuchCPU(s *v1.EchoSpec) {
	s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1k")}}
}

// podMessages returns the cases in which the kubelet, the scheduler, or a container reports a problem.
func podMessages() []explained {
	of := func(name string, reason v1.Reason, change func(*v1.EchoSpec), message string) explained {
		return explained{name: name, change: change, condition: v1.ConditionReady, reason: reason, message: message}
	}
	return []explained{
		of("an image that does not exist", v1.ReasonImagePullFailed, func(s *v1.EchoSpec) { s.Image = "quay.io/echo-operator/none:1" },
			"Image quay.io/echo-operator/none:1 cannot be pulled: .*Check spec.image"),
		of("a registry that cannot be reached", v1.ReasonImagePullFailed, func(s *v1.EchoSpec) {
			s.Image, s.ImagePullSecrets = "registry.invalid/team/web:1", []v1.ImagePullSecret{{Name: "none"}}
		}, "Image registry.invalid/team/web:1 cannot be pulled: .*spec.imagePullSecrets"),
		of("a missing Secret", v1.ReasonContainerNotStarted, variableFrom(secretKey("none")), "Container echo .*secret 'none' not found.*Create the Secret"),
		{name: "a missing Secret key", change: variableFrom(secretKey("some")), condition: v1.ConditionReady, reason: v1.ReasonContainerNotStarted,
			objects: "{apiVersion: v1, kind: Secret, metadata: {name: some, namespace: NAMESPACE}}",
			message: "Container echo .*couldn't find key x in Secret .*Add the key"},
		of("a missing ConfigMap", v1.ReasonContainerNotStarted, variableFrom(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			Name: "none", Key: "x"}}),
			"Container echo .*configmap 'none' not found.*Create the ConfigMap"),
		of("a crash", v1.ReasonPodsCrashing, func(s *v1.EchoSpec) { s.Env = []corev1.EnvVar{{Name: "ECHO_DRAIN_DELAY", Value: "soon"}} },
			"Container echo .*exit code 2: .*ECHO_DRAIN_DELAY.*kubectl logs"),
		of("an unknown argument", v1.ReasonPodsCrashing, func(s *v1.EchoSpec) { s.Args = []string{"--none"} }, "Container echo .*exit code.*kubectl logs"),
		of("a port that nothing listens on", v1.ReasonPodsCrashing, func(s *v1.EchoSpec) {
			s.Image, s.Env = realcluster.Image("other-server"), []corev1.EnvVar{{Name: "ECHO_HTTP_ADDR", Value: ":9999"}}
		}, "Container echo .*listen on spec.port"),
		of("no node with a label", v1.ReasonUnschedulable, func(s *v1.EchoSpec) { s.NodeSelector = v1.Labels{"example.com/none": "such"} },
			"Pod .* cannot be scheduled: .*Change spec.nodeSelector"),
		of("no node with enough CPU", v1.ReasonUnschedulable, tooMuchCPU, "Pod .* cannot be scheduled: .*Insufficient cpu.*Lower spec.resources.requests"),
		of("no topology domain", v1.ReasonUnschedulable, func(s *v1.EchoSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "example.com/none",
				WhenUnsatisfiable: corev1.DoNotSchedule}}
		}, "Pod .* cannot be scheduled: .*Relax spec.topologySpreadConstraints"),
		of("a certificate that does not exist", v1.ReasonPodsCrashing, func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{SecretName: "none"} },
			"Container echo .*none.*key tls.crt is missing.*Create or correct the Secret none"),
		{name: "a Deployment that is paused", change: func(s *v1.EchoSpec) { s.Paused = false }, condition: v1.ConditionReady,
			reason: v1.ReasonDeploymentPaused, after: func(ctx context.Context, echo *v1.Echo) {
				waitReady(ctx, echo)
				realcluster.Kubectl(ctx, "rollout", "pause", "-n", echo.Namespace, "deployment/"+echo.Name)
				edit(ctx, echo, func(s *v1.EchoSpec) { s.PodAnnotations = v1.Annotations{"a": "b"} })
			}, message: "The rollout of the Deployment is paused. Run 'kubectl rollout resume"},
	}
}

// admissionMessages returns the cases in which the API server rejects objects or pods.
func admissionMessages() []explained {
	asIs := func(*v1.EchoSpec) {}
	quota := func(what string) string {
		return "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: NAMESPACE}, spec: {hard: {" + what + ": 0}}}"
	}
	const matched = "matchResources: {namespaceSelector: {matchLabels: {e2e-case: NAMESPACE}}}"
	policy := "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: NAMESPACE, labels: {e2e-case: NAMESPACE}}\n" +
		"spec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [services]}]}\n" +
		"  validations: [{expression: 'false', message: Services need a label team.}]\n---\n" +
		"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: NAMESPACE}\n" +
		"spec: {policyName: NAMESPACE, validationActions: [Deny], " + matched + "}\n"
	webhook := "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: NAMESPACE}\n" +
		"webhooks: [{name: away.example.com, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Fail, " +
		"namespaceSelector: {matchLabels: {e2e-case: NAMESPACE}}, clientConfig: {service: {name: none, namespace: NAMESPACE, port: 443}}, " +
		"rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [services]}]}]\n"
	return []explained{
		{name: "a quota of pods", objects: quota("pods"), change: asIs, condition: v1.ConditionReady, reason: v1.ReasonQuotaExceeded,
			message: "A resource quota rejects the pods: .exceeded quota: few, requested: pods=.*Raise it, or lower"},
		{name: "a quota of Services", objects: quota("services"), change: asIs, condition: v1.ConditionDegraded, reason: v1.ReasonQuotaExceeded,
			message: "A resource quota rejects the Service explained: .exceeded quota: few, requested: services=.*Raise it"},
		{name: "a LimitRange", change: asIs, condition: v1.ConditionReady, reason: v1.ReasonPodsRejected,
			objects: "{apiVersion: v1, kind: LimitRange, metadata: {name: small, namespace: NAMESPACE}, spec: {limits: [{type: Container, max: {memory: 32Mi}}]}}",
			message: "The API server rejects the pods: .*maximum memory usage per Container.*LimitRange"},
		{name: "Pod Security of the namespace", change: func(s *v1.EchoSpec) { s.SecurityContext = &corev1.SecurityContext{} },
			condition: v1.ConditionReady, reason: v1.ReasonPodsRejected,
			message: "The API server rejects the pods: .*violates PodSecurity.*Change spec.podSecurityContext"},
		{name: "a missing ServiceAccount", change: func(s *v1.EchoSpec) { s.ServiceAccountName = "none" }, condition: v1.ConditionReady,
			reason: v1.ReasonServiceAccountNotFound, message: "The ServiceAccount none does not exist. Create it, or change spec.serviceAccountName"},
		{name: "a missing PriorityClass", change: func(s *v1.EchoSpec) { s.PriorityClassName = "none" }, condition: v1.ConditionReady,
			reason: v1.ReasonPodsRejected, message: "The API server rejects the pods: .*PriorityClass"},
		{name: "a policy that denies the Service", objects: policy, denied: "need a label team", change: asIs, condition: v1.ConditionDegraded, reason: v1.ReasonForbidden,
			message: "An admission webhook or policy denies the Service explained: .*need a label team.*as the policy requires"},
		{name: "an unavailable webhook", objects: webhook, denied: "failed calling webhook", change: asIs, condition: v1.ConditionDegraded, reason: v1.ReasonApplyFailed,
			message: "The Service explained cannot be applied: .*failed calling webhook 'away.example.com'.*Check that the webhook's Service is available"},
		{name: "a Service with IPv6", change: func(s *v1.EchoSpec) { s.Service.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} },
			condition: v1.ConditionDegraded, reason: v1.ReasonInvalidSpec,
			message: "The API server rejects the Service explained: .*spec.ipFamilies.*Change spec.service in the Echo"},
		{name: "a name that is taken", change: asIs, condition: v1.ConditionDegraded, reason: v1.ReasonNameConflict,
			objects: "{apiVersion: v1, kind: Service, metadata: {name: explained, namespace: NAMESPACE}, spec: {ports: [{port: 1}]}}",
			message: "The Service explained already exists, was not created for this Echo, and is not changed. Delete it, or give the Echo another name"},
	}
}

// specMessages returns the cases in which the operator rejects a spec, or does not apply it.
func specMessages() []explained {
	return []explained{
		{name: "too many replicas", change: func(s *v1.EchoSpec) { s.Replicas = new(int32(100)) }, condition: v1.ConditionDegraded,
			reason: v1.ReasonInvalidSpec, message: "The field spec.replicas is 100, but the operator allows at most 20. Lower spec.replicas"},
		{name: "privileges that the operator does not allow", condition: v1.ConditionDegraded, reason: v1.ReasonInvalidSpec,
			change:  func(s *v1.EchoSpec) { s.SecurityContext = &corev1.SecurityContext{Privileged: new(true)} },
			message: "The pods violate the operator's Pod Security Standard, baseline: .*Change spec.podSecurityContext"},
		{name: "one port for HTTP and HTTPS", condition: v1.ConditionDegraded, reason: v1.ReasonInvalidSpec,
			change:  func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{SecretName: "none", Port: 8080} },
			message: "The field spec.tls.port is 8080, the same port as spec.port. Set one of them"},
		{name: "paused before its first rollout", change: func(s *v1.EchoSpec) { s.Paused = true }, condition: v1.ConditionReady,
			reason: v1.ReasonPaused, message: "The Echo is paused: changes are not applied. Set spec.paused to false"},
		{name: "paused afterwards", change: func(*v1.EchoSpec) {}, condition: v1.ConditionProgressing, reason: v1.ReasonPaused,
			after: func(ctx context.Context, echo *v1.Echo) {
				waitReady(ctx, echo)
				edit(ctx, echo, func(s *v1.EchoSpec) { s.Paused = true })
			}, message: "The Echo is paused: changes are not applied. Set spec.paused to false to apply them. 1 of 1 pods are ready"},
	}
}

// pathMessages returns the cases in which all pods are ready, but requests do not reach them.
func pathMessages() []explained {
	ready := func(name string, change func(*v1.EchoSpec), message string) explained {
		return explained{name: name, change: change, condition: v1.ConditionReady, reason: v1.ReasonAllPodsReady, message: message}
	}
	check := func(url string, expect ...v1.EchoExpectation) func(*v1.EchoSpec) {
		return func(s *v1.EchoSpec) {
			s.Checks = []v1.EchoCheck{{Name: "path", Schedule: "* * * * *", URL: url, Groups: []string{"request"}, Expect: expect}}
		}
	}
	return []explained{
		ready("a missing IngressClass", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", ClassName: "none"}
		}, "The Ingress has no address yet. Check that a controller uses the IngressClass none. 1 of 1 pods are ready"),
		ready("no default IngressClass", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: true, Host: "b.example.com"} },
			"The Ingress has no address yet. .*set spec.ingress.className"),
		ready("a NetworkPolicy that drops node ports", func(s *v1.EchoSpec) {
			s.NetworkPolicy, s.Service.Type = &v1.EchoNetworkPolicy{Enabled: true}, corev1.ServiceTypeNodePort
		}, "The NetworkPolicy drops traffic from node ports. Add .* spec.networkPolicy.from"),
		ready("a NetworkPolicy of one namespace", func(s *v1.EchoSpec) {
			s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true, From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}
			s.Ingress = &v1.EchoIngress{Enabled: true, Host: "c.example.com"}
		}, "The NetworkPolicy drops traffic from "),
		ready("a check without a URL", check(""), "Check path has no result: The Echo has no external URL yet"),
		ready("a check that fails", check("http://explained.NAMESPACE.svc", v1.EchoExpectation{Fact: "request.version", Value: "HTTP/9"}),
			"Check path failed: request.version is .*, expected HTTP/9"),
		ready("a check that is not allowed", check("http://example.com"), "Check path has no result: The check cannot run. The check's url field is http://example.com"),
		{name: "no Gateway API", condition: v1.ConditionDegraded, reason: v1.ReasonGatewayAPIMissing, change: func(s *v1.EchoSpec) {
			s.Gateway = &v1.EchoGateway{Enabled: true, ParentRefs: []v1.EchoGatewayReference{{Name: "none"}}}
		}, message: "The cluster does not serve HTTPRoute .*Install Gateway API"},
	}
}
