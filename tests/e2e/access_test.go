package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("a user with the role", func() {
	DescribeTable("has the role's permissions on Echoes, only in that namespace",
		func(ctx SpecContext, role string, may, mayNot []string) {
			namespace := namespaces.New(ctx)
			realcluster.Kubectl(ctx, "create", "rolebinding", "jane", "-n", namespace, "--clusterrole="+role, "--user=jane")
			can := func(namespace, what string) string {
				output, _ := realcluster.TryKubectl(ctx, strings.Fields("auth can-i --as=jane -n "+namespace+" "+what)...) // fails for "no"
				return what + ": " + strings.TrimSpace(output)
			}
			for _, what := range may {
				Eventually(can).WithContext(ctx).WithArguments(namespace, what).Should(HaveSuffix(": yes")) // role aggregation takes a moment
				Expect(can("default", what)).To(HaveSuffix(": no"), "the permissions must not apply in another namespace")
			}
			for _, what := range mayNot {
				Expect(can(namespace, what)).To(HaveSuffix(": no"))
			}
		},
		Entry("view", SpecTimeout(5*time.Minute), "view",
			[]string{"get echoes", "list echoes", "watch echoes", "get echoes --subresource=status", "get echoes --subresource=scale"},
			[]string{"create echoes", "update echoes --subresource=scale", "delete echoes", "patch echoes"}),
		Entry("edit", SpecTimeout(5*time.Minute), "edit",
			[]string{"get echoes", "create echoes", "patch echoes", "delete echoes", "deletecollection echoes", "update echoes --subresource=scale",
				"get services --subresource=proxy", "get pods --subresource=log"}, // as in the quick start, and in messages
			[]string{"update echoes --subresource=status", "patch echoes --subresource=status", "update echoes --subresource=finalizers"}),
		Entry("admin", SpecTimeout(5*time.Minute), "admin",
			[]string{"create echoes", "deletecollection echoes", "patch echoes --subresource=scale", "get echoes --subresource=status",
				"update echoes --subresource=finalizers"},
			[]string{"update echoes --subresource=status", "patch echoes --subresource=status"}),
	)
})
