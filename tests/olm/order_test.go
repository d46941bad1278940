package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("an operator that was uninstalled before its Echoes", Label("all"), func() {
	It("is not needed to delete them with the documented steps", func(ctx SpecContext) {
		run(ctx, installation(version(0)))
		pod := createKeptEcho(ctx)
		kubectl(ctx, "delete", "subscription,csv", "--all")
		awaitOperatorGone(ctx)

		prober := realcluster.ProbeSample(ctx)
		Expect(prober.Stop(ctx).Failed).To(BeZero(), "the echo servers must still respond")
		expectEchoesLetGo(ctx, pod)
		uninstall(ctx)
	}, SpecTimeout(15*time.Minute))
})

// foreignFinalizer is a finalizer that does not belong to the operator.
const foreignFinalizer = "example.org/kept"

// createKeptEcho creates an Echo with a foreign finalizer, because none can be added after the deletion begins. It adds the same finalizer
// to one of the Echo's pods, and returns its name. While the pod exists, not even a running operator can complete the Echo's deletion.
func createKeptEcho(ctx context.Context) string {
	GinkgoHelper()
	realcluster.CreateSample(ctx, "default")
	realcluster.AwaitSample(ctx, "default")
	pod := strings.Fields(realcluster.SamplePods(ctx))[0]
	realcluster.Kubectl(ctx, "patch", "echo/test-echo", "--type=json", "-p",
		`[{"op": "add", "path": "/metadata/finalizers/0", "value": "`+foreignFinalizer+`"}]`)
	realcluster.Kubectl(ctx, "patch", pod, "--type=json", "-p",
		`[{"op": "add", "path": "/metadata/finalizers", "value": ["`+foreignFinalizer+`"]}]`)
	return pod
}

// expectEchoesLetGo deletes Echoes without the operator, as install.md describes, and expects foreign finalizers to remain.
func expectEchoesLetGo(ctx context.Context, pod string) {
	GinkgoHelper()
	finalizers := []string{"get", "echo/test-echo", "-o", "jsonpath={.metadata.finalizers}"}
	Expect(realcluster.Kubectl(ctx, finalizers...)).To(Equal(`["` + foreignFinalizer + `","echoes.example.com/finalizer"]`))
	run(ctx, realcluster.Documented(version(0), installPage, "## Removing finalizers"))
	Expect(realcluster.Kubectl(ctx, finalizers...)).To(Equal(`["` + foreignFinalizer + `"]`))
	for _, kept := range []string{pod, "echo/test-echo"} {
		realcluster.Kubectl(ctx, "patch", kept, "--type=json", "-p", `[{"op": "remove", "path": "/metadata/finalizers"}]`)
	}
	Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("get", "deployment,service,poddisruptionbudget,pod", "-n", "default", "-o",
		"name").
		ShouldNot(ContainSubstring("test-echo"))
}
