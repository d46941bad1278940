package traefik

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// period is the interval between two scheduled runs of the check. patience is the maximum time until both the status and Prometheus have
// the result: the wait for the next run, the run itself, and the wait for the next scrape.
const (
	period   = 2 * time.Minute
	patience = period + 3*time.Minute
)

var _ = Describe("a check of Traefik", Ordered, func() {
	var traefik gateway
	var prometheus realcluster.Prometheus
	var namespace string

	BeforeAll(func(ctx SpecContext) {
		prometheus = realcluster.InstallPrometheus(ctx, namespaces.New(ctx))
		installCRDs(ctx)
		traefik, namespace = newGateway(ctx), namespaces.New(ctx)
		trust(ctx, namespace, "gateway", traefik.authority)
		traefik.apply(ctx, "gateway.yaml")
		traefik.run(ctx)
		// At startup, the operator checks whether the cluster serves PodMonitors.
		realcluster.Kubectl(ctx, "rollout", "restart", "-n", operatorNamespace, operatorDeployment)
		realcluster.Kubectl(ctx, "rollout", "status", "-n", operatorNamespace, operatorDeployment, waitTimeout)
	}, NodeTimeout(15*time.Minute))

	It("passes while the gateway does what is expected", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, support.Echo(namespace, "web", func(e *v1.Echo) {
			e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), Hostnames: []string{traefik.host("web")},
				ParentRefs: []v1.EchoGatewayReference{{Name: "public", Namespace: traefik.namespace}}}
			e.Spec.Checks = []v1.EchoCheck{{Name: "path", Schedule: "*/2 * * * *", CAConfigMap: "gateway",
				Expect: []v1.EchoExpectation{{Fact: "client.spoofable[X-Forwarded-For]", Values: []string{"not found"}},
					{Fact: "tls.trust", Values: []string{"yes"}}}}}
		}))).To(Succeed())
		expectURL(ctx, namespace, "web")
		expectCheck(ctx, namespace, v1.CheckPassed, "")
		Eventually(func(g Gomega) { // Prometheus may still be starting
			g.Expect(prometheus.Query(ctx, g, "echo_operator_echoes")).NotTo(BeEmpty())
			g.Expect(prometheus.Firing(ctx, g)).NotTo(HaveKey("EchoCheckFailed"))
		}).WithContext(ctx).WithTimeout(patience).Should(Succeed())
	}, SpecTimeout(15*time.Minute))

	It("fails within one schedule when the gateway trusts headers from clients", func(ctx SpecContext) {
		began := time.Now()
		traefik.run(ctx, "--entryPoints.websecure.forwardedHeaders.insecure=true")
		expectCheck(ctx, namespace, v1.CheckFailed, "client.spoofable[X-Forwarded-For]")
		AddReportEntry("the status reports the failure after", time.Since(began).Round(time.Second).String())
		echo := echoNow(ctx, Default, namespace, "web")
		AddReportEntry("message", echo.Status.Checks[0].Message)
		Expect(meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionPathsHealthy)).To(HaveField("Reason", v1.ReasonCheckFailed.String()))
		Expect(meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionReady)).To(BeTrue())
		Eventually(reasons).WithArguments(ctx, namespace).WithContext(ctx).Should(ContainElement("CheckFailed"))
		Eventually(func(g Gomega) {
			g.Expect(prometheus.Query(ctx, g, `echo_operator_check_failed{echo="web",check="path"}`)).To(HaveLen(1))
			g.Expect(prometheus.Firing(ctx, g)).To(HaveKey("EchoCheckFailed"))
		}).WithContext(ctx).WithTimeout(patience).Should(Succeed())
		AddReportEntry("the alert fires after", time.Since(began).Round(time.Second).String())
	}, SpecTimeout(15*time.Minute))

	It("passes again when the gateway is as before", func(ctx SpecContext) {
		traefik.run(ctx)
		expectCheck(ctx, namespace, v1.CheckPassed, "")
		Expect(meta.IsStatusConditionTrue(echoNow(ctx, Default, namespace, "web").Status.Conditions, v1.ConditionPathsHealthy)).To(BeTrue())
		Eventually(func(g Gomega) { g.Expect(prometheus.Firing(ctx, g)).NotTo(HaveKey("EchoCheckFailed")) }).
			WithContext(ctx).WithTimeout(patience).Should(Succeed())
		Expect(reasons(ctx, namespace)).To(ContainElements("CheckPassed", "CheckFailed"))
	}, SpecTimeout(15*time.Minute))
})

// expectCheck waits until the check has the given result, and a message that contains the given text.
func expectCheck(ctx context.Context, namespace string, result v1.CheckResult, message string) {
	GinkgoHelper()
	support.EventuallyObject(ctx, k8s, support.Echo(namespace, "web")).WithTimeout(patience).WithPolling(time.Second).Should(
		HaveField("Status.Checks", ConsistOf(And(HaveField("Result", result), HaveField("Message", ContainSubstring(message))))))
}

// reasons returns the reasons of the events in a namespace.
func reasons(ctx context.Context, namespace string) ([]string, error) {
	list := &eventsv1.EventList{}
	err := k8s.List(ctx, list, client.InNamespace(namespace))
	var all []string
	for _, each := range list.Items {
		all = append(all, each.Reason)
	}
	return all, err
}
