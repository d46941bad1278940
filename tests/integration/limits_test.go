package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("an Echo", func() {
	It("whose peers the API server rejects reports the field, and recovers", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "unreachable"))
		from := func(cidr string) func(*v1.Echo) {
			return func(e *v1.Echo) {
				e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true,
					From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}}}
			}
		}
		edit(ctx, echo, from("10.0.0.0/99"))
		expectFailed(ctx, echo, v1.ReasonInvalidSpec,
			And(ContainSubstring("spec.ingress[0].from[0].ipBlock.cidr"), ContainSubstring("10.0.0.0/99")))
		edit(ctx, echo, from("10.0.0.0/8"))
		rollOut(ctx, echo.Namespace, echo.Name)
		policy := get(ctx, Default, echo.Namespace, echo.Name, &networkingv1.NetworkPolicy{})
		Expect(policy.Spec.Ingress).To(ConsistOf(HaveField("From", echo.Spec.NetworkPolicy.From)))
	})

	It("whose pods violate the operator's Pod Security Standard is rejected without changes, and recovers", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "mighty"))
		before := deploymentNow(ctx, Default, echo.Namespace, echo.Name)
		edit(ctx, echo, func(e *v1.Echo) {
			e.Spec.SecurityContext, e.Spec.Service.Port = &corev1.SecurityContext{Privileged: new(true)}, 81
		})
		expectFailed(ctx, echo, v1.ReasonInvalidSpec, And(ContainSubstring(`"baseline"`), ContainSubstring("POD_SECURITY"),
			ContainSubstring(`privileged (container "echo" must not set securityContext.privileged=true)`)))
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name).Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(deploymentNow(ctx, Default, echo.Namespace, echo.Name).Generation).To(Equal(before.Generation))
		Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name).Spec.Ports[0].Port).To(BeEquivalentTo(80))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))} })
		rollOut(ctx, echo.Namespace, echo.Name)
	})
})
