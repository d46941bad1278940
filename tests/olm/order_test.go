package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("an operator that went before its Echoes", Label("all"), func() {
	It("is done without, by the documented steps", func(ctx SpecContext) {
		run(ctx, documented(version(0), "## With OLM, from a catalog"))
		pod := createKeptEcho(ctx)
		kubectl(ctx, "delete", "subscription,csv", "--all")
		awaitOperatorGone(ctx)

		prober := startProber(ctx)
		Expect(prober.Stop(ctx).Failed).To(BeZero(), "its servers go on")
		expectEchoesLetGo(ctx, pod)
		uninstall(ctx)
	}, SpecTimeout(15*time.Minute))
})

// foreignFinalizer belongs to somebody else than the operator.
const foreignFinalizer = "example.org/kept"

// createKeptEcho creates an Echo with a finalizer of somebody else, which cannot be added when the Echo is being deleted. One of its
// pods, which is returned, has it too: until that is gone, an operator that still sees the Echo deleted cannot finish.
func createKeptEcho(ctx context.Context) string {
	GinkgoHelper()
	createEcho(ctx, "default")
	waitReady(ctx, "default")
	pod := strings.Fields(echoPods(ctx))[0]
	support.Kubectl(ctx, "patch", "echo/test-echo", "--type=json", "-p", `[{"op": "add", "path": "/metadata/finalizers/0", "value": "`+foreignFinalizer+`"}]`)
	support.Kubectl(ctx, "patch", pod, "--type=json", "-p", `[{"op": "add", "path": "/metadata/finalizers", "value": ["`+foreignFinalizer+`"]}]`)
	return pod
}

// expectEchoesLetGo deletes Echoes without the operator, as install.md says, and expects the finalizers of others to stay.
func expectEchoesLetGo(ctx context.Context, pod string) {
	GinkgoHelper()
	finalizers := []string{"get", "echo/test-echo", "-o", "jsonpath={.metadata.finalizers}"}
	Expect(support.Kubectl(ctx, finalizers...)).To(Equal(`["` + foreignFinalizer + `","echoes.example.com/finalizer"]`))
	run(ctx, documented(version(0), "## Removing finalizers"))
	Expect(support.Kubectl(ctx, finalizers...)).To(Equal(`["` + foreignFinalizer + `"]`))
	for _, kept := range []string{pod, "echo/test-echo"} {
		support.Kubectl(ctx, "patch", kept, "--type=json", "-p", `[{"op": "remove", "path": "/metadata/finalizers"}]`)
	}
	Eventually(support.Kubectl).WithContext(ctx).WithArguments("get", "deployment,service,poddisruptionbudget,pod", "-n", "default", "-o", "name").
		ShouldNot(ContainSubstring("test-echo"))
}
