package e2e

import (
	"os"
	"os/exec"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the commands of the operator's program", func() {
	inside := []string{"exec", "-n", operatorNamespace, "deployment/" + operatorDeployment, "--", "/manager"}
	manager := func(arguments ...string) []string { return slices.Concat(inside, arguments) }

	It("watch with the operator's own permissions", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "watched")
		command := exec.Command("kubectl", manager("watch", "echoes", "-n", echo.Namespace)...)
		session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { session.Terminate().Wait() })
		// The watch must be running before the change is made. Otherwise, the command prints only the final state.
		Expect(k8s.Create(ctx, support.Echo(echo.Namespace, "first", func(e *v1.Echo) { e.Spec.Replicas = new(int32(0)) }))).To(Succeed())
		Eventually(session.Out).WithContext(ctx).Should(gbytes.Say(`ADDED    ` + echo.Namespace + `/first `))
		createReady(ctx, echo)
		Eventually(session.Out).WithContext(ctx).Should(gbytes.Say(`ADDED    ` + echo.Namespace + `/watched `))
		Eventually(session.Out).WithContext(ctx).Should(gbytes.Say(`UPDATED  ` + echo.Namespace + `/watched  Ready 2/2 ready`))
		edit(ctx, echo, func(s *v1.EchoSpec) { s.Replicas = new(int32(1)) })
		Eventually(session.Out).WithContext(ctx).Should(gbytes.Say(`UPDATED  ` + echo.Namespace + `/watched  \w+ \d/1 ready`))
		waitReady(ctx, echo)
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		Eventually(session.Out).WithContext(ctx).Should(gbytes.Say(`DELETED  ` + echo.Namespace + `/watched `))
		Expect(session.Err.Contents()).NotTo(ContainSubstring("ERROR"))
	}, SpecTimeout(8*time.Minute))

	It("print the version and the CustomResourceDefinition", func(ctx SpecContext) {
		Expect(realcluster.Kubectl(ctx, manager("version")...)).To(HavePrefix("echo-operator v" + version() + " (go"))
		crd, err := os.ReadFile("../../config/crd/bases/example.com_echoes.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(realcluster.Kubectl(ctx, manager("crd")...)).To(Equal(string(crd)))
	}, SpecTimeout(5*time.Minute))
})
