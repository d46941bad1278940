package integration

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("on a cluster with two IP families", Ordered, func() {
	var admin client.Client

	BeforeAll(func() {
		server, err := controlplane.StartWith(func(s *envtest.APIServer) {
			s.Configure().Set("service-cluster-ip-range", "10.0.0.0/16,fd00::/108")
		}, filepath.Join(configFolder, "crd", "bases"))
		DeferCleanup(server.Stop)
		Expect(err).NotTo(HaveOccurred())
		admin = newClient(server.Config)
		startProgram([]string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig), "WATCH_NAMESPACE=default"},
			"--health-probe-bind-address=0", "--metrics-bind-address=0")
	})

	// set sets an Echo's IP family policy and IP families.
	set := func(ctx context.Context, echo *v1.Echo, policy corev1.IPFamilyPolicy, families ...corev1.IPFamily) {
		GinkgoHelper()
		before := echo.DeepCopy()
		echo.Spec.Service.IPFamilyPolicy, echo.Spec.Service.IPFamilies = policy, families
		Expect(admin.Patch(ctx, echo, client.MergeFrom(before))).To(Succeed())
	}
	// eventually waits until an Echo's Service has the given IP family policy and IP families, and the Echo reports no problem.
	eventually := func(ctx context.Context, echo *v1.Echo, policy corev1.IPFamilyPolicy, families ...corev1.IPFamily) *corev1.Service {
		GinkgoHelper()
		service := &corev1.Service{}
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), service)).To(Succeed())
			g.Expect(service.Spec.IPFamilyPolicy).To(HaveValue(Equal(policy)))
			g.Expect(service.Spec.IPFamilies).To(Equal(families))
			now := &v1.Echo{}
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), now)).To(Succeed())
			g.Expect(now).To(haveCondition(v1.ConditionDegraded, metav1.ConditionFalse, nil))
		}).WithContext(ctx).Should(Succeed())
		return service
	}
	const four, six = corev1.IPv4Protocol, corev1.IPv6Protocol

	It("the Service of an Echo gets the families of the spec, without a replacement where Kubernetes can change them", func(ctx SpecContext) {
		echo := support.Echo("default", "families", func(e *v1.Echo) {
			e.Spec.Service.IPFamilyPolicy, e.Spec.Service.IPFamilies = corev1.IPFamilyPolicyPreferDualStack, []corev1.IPFamily{six}
		})
		Expect(admin.Create(ctx, echo)).To(Succeed())
		bothFamilies := func() *corev1.Service { return eventually(ctx, echo, corev1.IPFamilyPolicyPreferDualStack, six, four) }
		first := bothFamilies()

		By("keeping the second family, which Kubernetes added, when something else changes")
		before := echo.DeepCopy()
		echo.Spec.Service.Annotations = map[string]string{"a": "b"}
		Expect(admin.Patch(ctx, echo, client.MergeFrom(before))).To(Succeed())
		Eventually(bothFamilies).WithContext(ctx).Should(HaveField("Annotations", HaveKey("a")))
		version := bothFamilies().ResourceVersion
		Consistently(bothFamilies).WithContext(ctx).Should(HaveField("ResourceVersion", version))

		By("giving up the second family")
		set(ctx, echo, corev1.IPFamilyPolicySingleStack, six)
		Expect(eventually(ctx, echo, corev1.IPFamilyPolicySingleStack, six).UID).To(Equal(first.UID))

		By("getting another primary family, which requires another Service")
		set(ctx, echo, corev1.IPFamilyPolicyRequireDualStack, four, six)
		second := eventually(ctx, echo, corev1.IPFamilyPolicyRequireDualStack, four, six)
		Expect(second.UID).NotTo(Equal(first.UID))

		By("no longer specifying families")
		set(ctx, echo, "")
		third := eventually(ctx, echo, corev1.IPFamilyPolicySingleStack, four)
		Expect(third.UID).NotTo(Equal(second.UID))
	}, SpecTimeout(specTimeout))
})
