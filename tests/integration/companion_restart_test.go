package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("companions, after the operator is killed,", func() {
	It("exist exactly once for each owner after the next start", SpecTimeout(specTimeout), func(ctx SpecContext) {
		server, admin := startCluster()
		environment := []string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig), "WATCH_NAMESPACE=default"}
		var session *gexec.Session
		restartAfter := func(step func()) {
			GinkgoHelper()
			if session != nil {
				session.Kill().Wait()
			}
			step()
			session = startProgram(environment, "--health-probe-bind-address=0", "--metrics-bind-address=0")
		}
		expectOne := func(owner *corev1.Pod, image string) {
			GinkgoHelper()
			Eventually(func() string { return eventuallyOne(ctx, admin, owner).Spec.Containers[0].Image }).WithContext(ctx).Should(Equal(image))
		}
		expectNone := func() {
			GinkgoHelper()
			Eventually(func(g Gomega) { g.Expect(companionsNow(ctx, g, admin, "default")).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
		}
		echo := support.Echo("default", "x")
		node := newNode(ctx, admin)
		var owner *corev1.Pod

		By("killed before the pod is created")
		restartAfter(func() { Expect(admin.Create(ctx, echo)).To(Succeed()) })
		restartAfter(func() { owner = createOwner(ctx, admin, "default", "web-0", "x"); bind(ctx, admin, owner, node) })
		expectOne(owner, echoServerImage)

		By("killed before the image of the Echo changes")
		restartAfter(func() {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
			echo.Spec.Image = "other:1"
			Expect(admin.Update(ctx, echo)).To(Succeed())
		})
		expectOne(owner, "other:1")

		By("killed before the companion is deleted")
		restartAfter(func() {
			Expect(admin.Delete(ctx, eventuallyOne(ctx, admin, owner), client.GracePeriodSeconds(0))).To(Succeed())
		})
		expectOne(owner, "other:1")

		By("killed before the owner is replaced by a pod with the same name, without a garbage collector")
		restartAfter(func() {
			Expect(admin.Delete(ctx, owner, client.GracePeriodSeconds(0))).To(Succeed())
			owner = createOwner(ctx, admin, "default", "web-0", "x")
			bind(ctx, admin, owner, node)
		})
		expectOne(owner, "other:1")

		By("killed before the owner loses its label")
		restartAfter(func() {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(owner), owner)).To(Succeed())
			owner.Labels = nil
			Expect(admin.Update(ctx, owner)).To(Succeed())
		})
		expectNone()
	})
})
