package olm

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("an operator that went before its Echoes", Label("all"), func() {
	It("is done without, by the documented steps", func(ctx SpecContext) {
		run(ctx, documented(version(0), "## With OLM, from a catalog"))
		createEcho(ctx, "default")
		waitReady(ctx, "default")
		kubectl(ctx, "delete", "subscription,csv", "--all")
		support.Kubectl(ctx, "wait", "--for=delete", "-n", operatorNamespace, "deployment/echo-operator-controller-manager", "--timeout=1m")

		prober := startProber(ctx)
		Expect(prober.Stop(ctx).Failed).To(BeZero(), "its servers go on")
		expectEchoesLetGo(ctx)
		uninstall(ctx)
	}, SpecTimeout(6*time.Minute))
})

// expectEchoesLetGo deletes Echoes without the operator, as install.md says, and expects the finalizers of others to stay.
func expectEchoesLetGo(ctx context.Context) {
	GinkgoHelper()
	const others = "example.org/kept"
	support.Kubectl(ctx, "patch", "echo/test-echo", "--type=json", "-p", `[{"op": "add", "path": "/metadata/finalizers/0", "value": "`+others+`"}]`)
	run(ctx, documented(version(0), "## When the operator went before its Echoes"))
	Expect(support.Kubectl(ctx, "get", "echo/test-echo", "-o", "jsonpath={.metadata.finalizers}")).To(Equal(`["` + others + `"]`))
	support.Kubectl(ctx, "patch", "echo/test-echo", "--type=json", "-p", `[{"op": "remove", "path": "/metadata/finalizers"}]`)
	Eventually(support.Kubectl).WithContext(ctx).WithArguments("get", "deployment,service,poddisruptionbudget,pod", "-n", "default", "-o", "name").
		ShouldNot(ContainSubstring("test-echo"))
}
