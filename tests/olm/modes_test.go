package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// The other specs use all namespaces.
var _ = Describe("an OperatorGroup", Label("all"), func() {
	DescribeTable("with target namespaces", func(ctx SpecContext, targets ...string) {
		namespaces := []string{"echo-mine", "echo-theirs", "echo-others"}
		for _, namespace := range namespaces {
			realcluster.Kubectl(ctx, "create", "namespace", namespace)
		}
		run(ctx, changed(installation(version(0)), "spec: {}", "spec: {targetNamespaces: ["+strings.Join(targets, ", ")+"]}"))

		createEcho(ctx, "echo-others")
		for _, target := range targets {
			createEcho(ctx, target)
			waitReady(ctx, target)
			Expect(mayCreateDeployments(ctx, target)).To(BeTrue(), target)
		}
		Expect(realcluster.Kubectl(ctx, "get", "echo/test-echo", "-n", "echo-others", "-o", "jsonpath={.status}{.metadata.finalizers}")).To(
			BeEmpty())
		Expect(mayCreateDeployments(ctx, "echo-others")).To(BeFalse())

		run(ctx, documented(version(0), "## Uninstalling, with OLM"))
		realcluster.Kubectl(ctx, append([]string{"delete", "namespace", waitTimeout}, namespaces...)...)
		expectNothingLeft(ctx)
	},
		Entry("its own: OwnNamespace", SpecTimeout(15*time.Minute), operatorNamespace),
		Entry("another: SingleNamespace", SpecTimeout(15*time.Minute), "echo-mine"),
		Entry("two: MultiNamespace", SpecTimeout(15*time.Minute), "echo-mine", "echo-theirs"),
	)
})

func mayCreateDeployments(ctx context.Context, namespace string) bool {
	GinkgoHelper()
	output, _ := realcluster.TryKubectl(ctx, "auth", "can-i", "create", "deployments", "-n", namespace,
		"--as=system:serviceaccount:"+operatorNamespace+":echo-operator-controller-manager") // exits 1 for no
	Expect(output).To(BeElementOf("yes\n", "no\n"))
	return output == "yes\n"
}
