package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("a spec that is rejected", func() {
	DescribeTable("changes no object, is reported in the status, and is followed by a spec that is applied",
		func(ctx SpecContext, stalls bool, change func(*v1.EchoSpec), messages ...string) {
			echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "rejected"))
			deployment, service := deploymentNow(ctx, Default, echo.Namespace, echo.Name), serviceNow(ctx, Default, echo.Namespace, echo.Name)
			edit(ctx, echo, func(e *v1.Echo) { change(&e.Spec) })
			for _, message := range messages {
				expectFailed(ctx, echo, v1.ReasonInvalidSpec, ContainSubstring(message))
			}
			now := echoNow(ctx, Default, echo.Namespace, echo.Name)
			if stalls {
				Expect(now).To(haveCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonInvalidSpec))
			}
			Expect(now.Status.ReadyReplicas).To(BeEquivalentTo(2))
			Expect(deploymentNow(ctx, Default, echo.Namespace, echo.Name).Generation).To(Equal(deployment.Generation))
			Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name)).To(Equal(service))

			edit(ctx, echo, func(e *v1.Echo) { e.Spec = support.Echo("", "", func(e *v1.Echo) { e.Spec.Service.Port = 81 }).Spec })
			expectPhase(ctx, echo, v1.PhaseReady)
			Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name).Spec.Ports).To(ConsistOf(HaveField("Port", BeEquivalentTo(81))))
		},
		Entry("by the limit of the operator", true, func(s *v1.EchoSpec) { s.Replicas, s.Service.Port = new(int32(maxReplicas+1)), 82 },
			"allows at most 20", "MAX_REPLICAS"),
		Entry("by the Pod Security Standard of the operator", true, func(s *v1.EchoSpec) {
			s.SecurityContext, s.Service.Port = &corev1.SecurityContext{Privileged: new(true)}, 82
		}, "operator's Pod Security Standard, baseline", "POD_SECURITY",
			"privileged (container 'echo' must not set securityContext.privileged=true)"),
		Entry("because its fields exclude each other", true, func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{SecretName: "a", Port: 8080} },
			"The fields spec.tls.port (8443 by default) and spec.port are the same port."),
		Entry("by the API server, in a Deployment", false, func(s *v1.EchoSpec) { s.Env = []corev1.EnvVar{{Name: "NOT=ALLOWED"}} }, "NOT=ALLOWED"),
		Entry("by the API server, in a Service", false, func(s *v1.EchoSpec) { s.Service.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} },
			"spec.ipFamilies[0]: Invalid value: 'IPv6': not configured on this cluster", ". Change spec.service in the Echo."),
		Entry("by the API server, in a NetworkPolicy", false, func(s *v1.EchoSpec) {
			s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true),
				From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/99"}}}}
		}, "spec.ingress[0].from[0].ipBlock.cidr", "10.0.0.0/99"),
	)
})

var _ = Describe("an Ingress that the API server rejects", func() {
	It("is not recreated: the working Ingress stays", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "kept", func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "kept.example.com", ClassName: "nginx"}
		}))
		ingress := named(&networkingv1.Ingress{}, echo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), ingress)).To(Succeed())
		edit(ctx, echo, func(e *v1.Echo) {
			e.Spec.Ingress.ClassName, e.Spec.Ingress.Annotations = "", v1.Annotations{"large": strings.Repeat("a", 1<<18)}
		})
		expectFailed(ctx, echo, v1.ReasonInvalidSpec, ContainSubstring("metadata.annotations: Too long"))
		support.EventuallyObject(ctx, k8s, named(&networkingv1.Ingress{}, echo)).Should(HaveField("ObjectMeta", Equal(ingress.ObjectMeta)))

		By("being recreated when the new one is valid")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Ingress.Annotations = nil })
		support.EventuallyObject(ctx, k8s, named(&networkingv1.Ingress{}, echo)).Should(And(
			HaveField("UID", Not(Equal(ingress.UID))), HaveField("Spec.IngressClassName", BeNil())))
		expectPhase(ctx, echo, v1.PhaseReady)
	})
})
