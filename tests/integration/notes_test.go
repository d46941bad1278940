package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the message of an Echo that is ready", func() {
	It("names a failing check until the check passes or is removed", func(ctx SpecContext) {
		bad := verdict.Verdict{Facts: 2, Failed: []verdict.Unmet{{Name: "client.address", Want: "kept", Got: "replaced"}}}
		const ready = "1 of 1 pods are ready."
		good := verdict.Verdict{Facts: 2}
		echo := createReadyEcho(ctx, checkedEcho(newNamespace(ctx), "web"))
		message := func() AsyncAssertion { return support.EventuallyObject(ctx, k8s, echo) }
		message().Should(HaveField("Status.Message", "Check path has no result: The check has not run yet. Wait for its next scheduled run. "+ready))
		run(ctx, echo, "web-path", string(bad.Encode()))
		message().Should(HaveField("Status.Message", "Check path failed: client.address is replaced, expected kept. "+ready))
		run(ctx, echo, "web-path", string(good.Encode()))
		message().Should(HaveField("Status.Message", ready))
		run(ctx, echo, "web-path", string(bad.Encode()))
		message().Should(HaveField("Status.Message", HavePrefix("Check path failed")))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Checks = nil })
		message().Should(HaveField("Status.Message", ready))
	})

	It("mentions an Ingress while it has no address", func(ctx SpecContext) {
		const ready = "2 of 2 pods are ready."
		const without = "The Ingress has no address yet. Check that a controller uses the IngressClass nginx. "
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "web", func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "web.example.com", ClassName: "nginx"}
		}))
		set := func(addresses ...networkingv1.IngressLoadBalancerIngress) {
			ingress := &networkingv1.Ingress{}
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), ingress)).To(Succeed())
			ingress.Status.LoadBalancer.Ingress = addresses
			Expect(k8s.Status().Update(ctx, ingress)).To(Succeed())
		}
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.Message", without+ready))
		set(networkingv1.IngressLoadBalancerIngress{IP: "192.0.2.1"})
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.Message", ready))
		set()
		support.EventuallyObject(ctx, k8s, echo).Should(And(HaveField("Status.Message", without+ready), HaveField("Status.Phase", v1.PhaseReady)))
	})
})
