package traefik

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// These specs run in order: Gateway API is missing when the operator starts, and is then installed, used, deleted, and installed again.
var _ = Describe("Echoes behind Traefik", Ordered, func() {
	var traefik gateway
	var namespace string
	routed := func(name, hostname string, changes ...func(*v1.Echo)) *v1.Echo {
		return support.Echo(namespace, name, append([]func(*v1.Echo){func(e *v1.Echo) {
			e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), Hostnames: []string{hostname},
				ParentRefs: []v1.EchoGatewayReference{{Name: "public", Namespace: traefik.namespace}}}
		}}, changes...)...)
	}

	BeforeAll(func(ctx SpecContext) {
		realcluster.Kubectl(ctx, "rollout", "restart", "-n", operatorNamespace, operatorDeployment)
		realcluster.Kubectl(ctx, "rollout", "status", "-n", operatorNamespace, operatorDeployment, waitTimeout)
		traefik, namespace = newGateway(ctx), namespaces.New(ctx)
		trust(ctx, namespace, "gateway", traefik.authority)
	}, NodeTimeout(10*time.Minute))

	It("wait for Gateway API", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, routed("web", traefik.host("web"), func(e *v1.Echo) {
			e.Spec.Gateway.GRPC = &v1.EchoGatewayGRPC{Hostnames: []string{traefik.host("grpc")}}
		}))).To(Succeed())
		expectDegraded(ctx, namespace, "web", v1.ReasonGatewayAPIMissing.String(),
			"The cluster does not serve HTTPRoute in gateway.networking.k8s.io/v1.")
	}, SpecTimeout(10*time.Minute))

	It("respond by the URLs of an HTTPRoute and a GRPCRoute when it is installed", func(ctx SpecContext) {
		expectAnotherStart(ctx, func() { installCRDs(ctx) })
		traefik.apply(ctx, "gateway.yaml")
		traefik.run(ctx)
		url := expectURL(ctx, namespace, "web")
		Expect(url).To(Equal("https://" + traefik.host("web")))
		expectWays(ctx, namespace, url)
		for _, scheme := range []string{"https://", "http://"} {
			seen := facts(examine(ctx, namespace, scheme+traefik.host("grpc"), "--groups=grpc", "--name="+namespace+"/web"))
			Expect(seen).To(And(HaveKeyWithValue("grpc.unary", "yes"), HaveKeyWithValue("grpc.stream", "streamed")), scheme)
		}
	}, SpecTimeout(40*time.Minute))

	It("respond by the URL of an Ingress", func(ctx SpecContext) {
		certificate(ctx, namespace, "ingress", traefik.host("ingress"))
		Expect(k8s.Create(ctx, support.Echo(namespace, "ingress", func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: traefik.host("ingress"), ClassName: "traefik", Path: "/echo",
				TLS: &v1.EchoIngressTLS{Enabled: new(true), SecretName: "ingress"}}
		}))).To(Succeed())
		url := expectURL(ctx, namespace, "ingress")
		Expect(url).To(Equal("https://" + traefik.host("ingress") + "/echo"))
		seen := facts(examine(ctx, namespace, url, "--groups=request,websocket,tls", "--name="+namespace+"/ingress"))
		Expect(seen).To(And(HaveKeyWithValue("websocket.upgrade", "yes"), HaveKeyWithValue("tls.name", "kept")))
	}, SpecTimeout(10*time.Minute))

	It("are connected to over HTTPS by a BackendTLSPolicy", func(ctx SpecContext) {
		const name = "encrypted"
		trust(ctx, namespace, name, certificate(ctx, namespace, name, name+".example.com"))
		Expect(k8s.Create(ctx, routed(name, traefik.host(name), func(e *v1.Echo) {
			e.Spec.TLS = &v1.EchoTLS{SecretName: name}
			e.Spec.Gateway.BackendTLS = &v1.EchoGatewayBackendTLS{Hostname: name + ".example.com", CAConfigMap: name}
		}))).To(Succeed())
		url := expectURL(ctx, namespace, name)
		seen := facts(examine(ctx, namespace, url, "--groups=tls,request", "--name="+namespace+"/"+name))
		Expect(seen).To(HaveKeyWithValue("tls.termination", "both"))
		By("saying so when the authority is gone, by the policy or by the route")
		Expect(k8s.Delete(ctx, &corev1.ConfigMap{Namespace: namespace, Name: name})).To(Succeed())
		expectDegraded(ctx, namespace, name, v1.ReasonRouteNotAccepted.String(), "configmap '"+name+"' not found")
		AddReportEntry("message", echoNow(ctx, Default, namespace, name).Status.Message)
	}, SpecTimeout(10*time.Minute))

	It("say why a Gateway refuses a route", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, routed("elsewhere", "elsewhere.example.com"))).To(Succeed())
		expectDegraded(ctx, namespace, "elsewhere", v1.ReasonRouteNotAccepted.String(),
			"Gateway "+traefik.namespace+"/public reports a problem with the HTTPRoute (Accepted, ")
		AddReportEntry("message", echoNow(ctx, Default, namespace, "elsewhere").Status.Message)
	}, SpecTimeout(10*time.Minute))

	It("report that Gateway API is gone, and have their routes when it is installed again", func(ctx SpecContext) {
		expectAnotherStart(ctx, func() { deleteCRDs(ctx) })
		expectDegraded(ctx, namespace, "web", v1.ReasonGatewayAPIMissing.String(), "The cluster does not serve HTTPRoute")
		Expect(echoNow(ctx, Default, namespace, "ingress").Status.Phase).To(Equal(v1.PhaseReady))
		expectAnotherStart(ctx, func() { installCRDs(ctx) })
		traefik.apply(ctx, "gateway.yaml")
		expectWays(ctx, namespace, expectURL(ctx, namespace, "web"))
	}, SpecTimeout(60*time.Minute))
})

// expectAnotherStart runs a step, and expects that each of the operator's two replicas then restarts exactly once. The replicas restart one
// after the other, at least ten minutes after their last start.
func expectAnotherStart(ctx context.Context, step func()) {
	GinkgoHelper()
	starts := func(g Gomega) int32 {
		list, all := &corev1.PodList{}, int32(0)
		g.Expect(k8s.List(ctx, list, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(
			Succeed())
		for _, pod := range list.Items {
			for _, container := range pod.Status.ContainerStatuses {
				all += container.RestartCount
			}
		}
		return all
	}
	before := starts(Default)
	step()
	Eventually(starts).WithContext(ctx).WithTimeout(20 * time.Minute).Should(Equal(before + 2))
	realcluster.Kubectl(ctx, "rollout", "status", "-n", operatorNamespace, operatorDeployment, waitTimeout)
	Consistently(starts).WithContext(ctx).WithTimeout(3 * time.Minute).WithPolling(10 * time.Second).Should(Equal(before + 2))
}

// expectWays expects that an Echo responds to requests and accepts WebSocket connections, both at its URL and over HTTP, and that Traefik
// preserves the client's address.
func expectWays(ctx context.Context, namespace, url string) {
	GinkgoHelper()
	for _, each := range []string{url, overHTTP(url)} {
		Expect(facts(examine(ctx, namespace, each, "--groups=client,websocket,request", "--name="+namespace+"/web"))).To(And(
			HaveKeyWithValue("websocket.upgrade", "yes"), HaveKeyWithValue("client.address", "kept"),
			HaveKeyWithValue("client.spoofable[X-Forwarded-For]", "not found"), HaveKeyWithValue("request.host", "kept")), each)
	}
}

// expectURL waits until an Echo is up to date and has an external URL, and returns this URL.
func expectURL(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	var url string
	Eventually(func(g Gomega) {
		echo := echoNow(ctx, g, namespace, name)
		g.Expect(echo.Status.Phase).To(Equal(v1.PhaseReady), echo.Status.Message)
		url = echo.Status.ExternalURL
		g.Expect(url).NotTo(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	return url
}

// expectDegraded waits until an Echo is Ready but Degraded, with the given reason and a message that contains the given text.
func expectDegraded(ctx context.Context, namespace, name, reason, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		echo := echoNow(ctx, g, namespace, name)
		g.Expect(meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionDegraded)).To(HaveField("Reason", reason), echo.Status.Message)
		g.Expect(echo.Status.Message).To(ContainSubstring(message))
		g.Expect(meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionReady)).To(BeTrue())
		g.Expect(echo.Status.Phase).To(Equal(v1.PhaseWarning))
	}).WithContext(ctx).Should(Succeed())
}

func echoNow(ctx context.Context, g Gomega, namespace, name string) *v1.Echo {
	echo := &v1.Echo{}
	g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, echo)).To(Succeed())
	return echo
}
