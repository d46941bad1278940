package integration

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("a Service that the API server rejects", func() {
	DescribeTable("is not created, and the status names the field of the Echo until it is corrected",
		func(ctx SpecContext, refused v1.EchoService, why string) {
			echo := support.Echo(newNamespace(ctx), "refused", func(e *v1.Echo) { e.Spec.Service = refused })
			Expect(k8s.Create(ctx, echo)).To(Succeed())
			expectRefused(ctx, echo, why)
			edit(ctx, echo, func(e *v1.Echo) { e.Spec.Service = v1.EchoService{Type: corev1.ServiceTypeClusterIP, Port: 80} })
			rollOut(ctx, echo.Namespace, echo.Name)
			serviceNow(ctx, Default, echo.Namespace, echo.Name)
		},
		Entry("for an IP family that the cluster does not support", v1.EchoService{IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}},
			"spec.ipFamilies[0]: Invalid value: 'IPv6': not configured on this cluster"),
		Entry("for two IP families on a cluster with one family", v1.EchoService{IPFamilyPolicy: corev1.IPFamilyPolicyRequireDualStack},
			"this cluster is not configured for dual-stack services"),
		Entry("for an invalid source range",
			v1.EchoService{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerSourceRanges: []string{"10.0.0.0/8", "10.0.0.300/8"}},
			"'10.0.0.300/8'"),
	)

	It("is not recreated: the working Service stays", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "kept"))
		before := serviceNow(ctx, Default, echo.Namespace, echo.Name)
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Service.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} })
		expectRefused(ctx, echo, "not configured on this cluster")
		Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name)).To(Equal(before))

		By("becoming ready when the field is removed")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Service.IPFamilies = nil })
		expectPhase(ctx, echo, v1.PhaseReady)
		Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name)).To(Equal(before))
		expectNoWrite(ctx, echo)
	})
})

var _ = Describe("an Ingress that the API server rejects", func() {
	It("is not recreated: the working Ingress stays", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "kept", func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "kept.example.com", ClassName: "nginx"}
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

// expectRefused waits until an Echo's status reports why the API server rejects its Service, and what to change.
func expectRefused(ctx SpecContext, echo *v1.Echo, why string) {
	GinkgoHelper()
	expectFailed(ctx, echo, v1.ReasonInvalidSpec,
		And(ContainSubstring(why), ContainSubstring(". Change spec.service in the Echo.")))
}

// allowMetrics grants the service account "scraper" in the default namespace the permission to read metrics.
func allowMetrics(ctx context.Context, c client.Client) {
	GinkgoHelper()
	rules := manifest("rbac/metrics_reader_role.yaml", &rbacv1.ClusterRole{}).Rules
	Expect(controlplane.Grant(ctx, c, "system:serviceaccount:default:scraper", "", rules)).To(Succeed())
}

// tokenOf returns a token for a service account, and creates this account if necessary.
func tokenOf(ctx context.Context, g Gomega, c client.Client, namespace, name string) string {
	account := &corev1.ServiceAccount{Namespace: namespace, Name: name}
	g.Expect(client.IgnoreAlreadyExists(c.Create(ctx, account))).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	g.Expect(c.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// statusOf sends a GET request with a bearer token, and returns the status code. It omits the Authorization header if the token is empty.
func statusOf(ctx context.Context, g Gomega, url, token string) int {
	status, _ := responseOf(ctx, g, http.MethodGet, url, token)
	return status
}

// responseOf sends a request with a bearer token, and returns the status code and the body of the response. It omits the Authorization
// header if the token is empty, and does not verify certificates.
func responseOf(ctx context.Context, g Gomega, method, url, token string) (int, string) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // self-signed
		DisableKeepAlives: true, DisableCompression: true}} // compression would use almost 1 MiB and affect the memory test
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(text)
}
