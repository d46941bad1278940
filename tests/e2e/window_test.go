package e2e

import (
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the window", func() {
	It("is looked through by the commands of docs/window.md", func(ctx SpecContext) {
		const page, sample = "../../docs/window.md", "../../config/samples/v1_echo.yaml"
		support.Kubectl(ctx, "apply", "-f", sample)
		DeferCleanup(func(ctx SpecContext) {
			support.Kubectl(ctx, "delete", "-f", sample)
			support.Kubectl(ctx, "delete", "-n", "default", "--ignore-not-found", "serviceaccount/echo-viewer", "rolebinding/echo-viewer")
			support.Kubectl(ctx, "delete", "--ignore-not-found", "clusterrolebinding/echo-viewer-diagnostics", "clusterrolebinding/echo-viewer-log-level")
		}, NodeTimeout(time.Minute))
		support.Kubectl(ctx, "wait", "--for=condition=Ready", "echo/test-echo", "--timeout=1m")

		rights, forward, found := strings.Cut(support.Documented(page, "## Look"), "kubectl port-forward")
		Expect(found).To(BeTrue())
		support.Run(ctx, rights)
		forwarding, err := gexec.Start(exec.Command("kubectl", append([]string{"port-forward"}, strings.Fields(forward)...)...), GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { forwarding.Terminate().Wait() })
		Eventually(forwarding.Out).WithContext(ctx).Should(gbytes.Say("Forwarding from"))

		said := support.Run(ctx, support.Documented(page, "in another terminal")+support.Documented(page, "there are two roles"))
		Expect(strings.Count(said, `"name": "test-echo"`)).To(BeNumerically(">=", 3), "in the list, by itself and among the passes")
		Expect(said).To(And(ContainSubstring(`"phase": "Ready"`), ContainSubstring(`"state": "Ready"`), ContainSubstring(`"reason": "Ready"`)))
		Expect(said).To(And(ContainSubstring(`"leads": true`), ContainSubstring(`"lastReconcile"`), ContainSubstring(`"level": "debug"`)))
		Expect(said).NotTo(ContainSubstring(`"error"`))
	}, SpecTimeout(3*time.Minute))
})
