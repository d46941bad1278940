package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// explained is a test case: an Echo with a problem, and the status that the Echo must report.
type explained struct {
	name string
	// objects contains manifests for kubectl. The test creates these objects before the Echo, in the Echo's namespace.
	objects string
	// change, if set, changes the spec.
	change func(*v1.EchoSpec)
	// after, if set, is called after the Echo is created.
	after func(context.Context, *v1.Echo)
	// reason is the reason of the Ready condition.
	reason v1.Reason
	// message is a regular expression that matches the cause and the remedy that follows it.
	message string
}

var _ = Describe("the message of an Echo", func() {
	It("begins with the cause, explains what to do, and fits on the first screen, for every problem", func(ctx SpecContext) {
		all := slices.Concat(podMessages(), admissionMessages(), pathMessages())
		var echoes []*v1.Echo
		for _, c := range all {
			echoes = append(echoes, createExplained(ctx, c))
		}
		Eventually(func(g Gomega) []string { return unexplained(ctx, g, all, echoes) }).
			WithContext(ctx).WithTimeout(10 * time.Minute).WithPolling(2 * time.Second).Should(BeEmpty())
	}, SpecTimeout(20*time.Minute))
})

// createExplained creates the Echo of a test case in a new namespace.
func createExplained(ctx context.Context, c explained) *v1.Echo {
	GinkgoHelper()
	namespace := namespaces.New(ctx)
	if c.objects != "" {
		realcluster.KubectlInput(ctx, strings.ReplaceAll(c.objects, "NAMESPACE", namespace), "apply", "-f", "-")
	}
	echo := support.Echo(namespace, "explained", func(e *v1.Echo) {
		e.Spec.Replicas = new(int32(1))
		if c.change != nil {
			c.change(&e.Spec)
		}
		for i := range e.Spec.Checks {
			e.Spec.Checks[i].URL = strings.ReplaceAll(e.Spec.Checks[i].URL, "NAMESPACE", namespace)
		}
	})
	Expect(k8s.Create(ctx, echo)).To(Succeed())
	if c.after != nil {
		c.after(ctx, echo)
	}
	return echo
}

// unexplained returns the condition and the message of each Echo whose status does not explain the problem as expected.
func unexplained(ctx context.Context, g Gomega, cases []explained, echoes []*v1.Echo) []string {
	var wrong []string
	for i, c := range cases {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echoes[i]), echoes[i])).To(Succeed())
		status := &echoes[i].Status
		condition := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
		if condition == nil || condition.Reason != c.reason.String() || !regexp.MustCompile("(?s)^"+c.message).MatchString(status.Message) ||
			len(status.Message) > 300 || strings.Contains(status.Message, `\`) {
			wrong = append(wrong, fmt.Sprintf("%s: %+v, %s", c.name, condition, status.Message))
		}
	}
	return wrong
}

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
		return explained{name: name, change: change, reason: reason, message: message}
	}
	return []explained{
		of("an image that does not exist", v1.ReasonImagePullFailed, func(s *v1.EchoSpec) { s.Image = "quay.io/echo-operator/none:1" },
			"Image quay.io/echo-operator/none:1 cannot be pulled: .*Check spec.image"),
		of("a registry that cannot be reached", v1.ReasonImagePullFailed, func(s *v1.EchoSpec) {
			s.Image, s.ImagePullSecrets = "registry.invalid/team/web:1", []v1.ImagePullSecret{{Name: "none"}}
		}, "Image registry.invalid/team/web:1 cannot be pulled: .*spec.imagePullSecrets"),
		of("a missing Secret", v1.ReasonContainerNotStarted, variableFrom(secretKey("none")), "Container echo .*secret 'none' not found.*Create the Secret"),
		{name: "a missing Secret key", change: variableFrom(secretKey("some")), reason: v1.ReasonContainerNotStarted,
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
		{name: "a Deployment that is paused", reason: v1.ReasonDeploymentPaused, after: func(ctx context.Context, echo *v1.Echo) {
			waitReady(ctx, echo)
			realcluster.Kubectl(ctx, "rollout", "pause", "-n", echo.Namespace, "deployment/"+echo.Name)
			edit(ctx, echo, func(s *v1.EchoSpec) { s.PodAnnotations = v1.Annotations{"a": "b"} })
		}, message: "The rollout of the Deployment is paused. Run 'kubectl rollout resume"},
	}
}

// admissionMessages returns the cases in which the API server rejects pods.
func admissionMessages() []explained {
	return []explained{
		{name: "a quota of pods", reason: v1.ReasonQuotaExceeded,
			objects: "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: NAMESPACE}, spec: {hard: {pods: 0}}}",
			message: "A resource quota rejects the pods: .exceeded quota: few, requested: pods=.*Raise it, or lower"},
		{name: "a LimitRange", reason: v1.ReasonPodsRejected,
			objects: "{apiVersion: v1, kind: LimitRange, metadata: {name: small, namespace: NAMESPACE}, spec: {limits: [{type: Container, max: {memory: 32Mi}}]}}",
			message: "The API server rejects the pods: .*maximum memory usage per Container.*LimitRange"},
		{name: "Pod Security of the namespace", change: func(s *v1.EchoSpec) { s.SecurityContext = &corev1.SecurityContext{} },
			reason:  v1.ReasonPodsRejected,
			message: "The API server rejects the pods: .*violates PodSecurity.*Change spec.podSecurityContext"},
		{name: "a missing ServiceAccount", change: func(s *v1.EchoSpec) { s.ServiceAccountName = "none" },
			reason: v1.ReasonServiceAccountNotFound, message: "The ServiceAccount none does not exist. Create it, or change spec.serviceAccountName"},
		{name: "a missing PriorityClass", change: func(s *v1.EchoSpec) { s.PriorityClassName = "none" },
			reason: v1.ReasonPodsRejected, message: "The API server rejects the pods: .*PriorityClass"},
	}
}

// pathMessages returns the cases in which all pods are ready, but requests do not reach them as expected.
func pathMessages() []explained {
	return []explained{{name: "a check that fails", reason: v1.ReasonAllPodsReady, change: func(s *v1.EchoSpec) {
		s.Checks = []v1.EchoCheck{{Name: "path", Schedule: "* * * * *", URL: "http://explained.NAMESPACE.svc", Groups: []string{"request"},
			Expect: []v1.EchoExpectation{{Fact: "request.version", Values: []string{"HTTP/9"}}}}}
	}, message: "Check path failed: request.version is .*, expected HTTP/9"}}
}
