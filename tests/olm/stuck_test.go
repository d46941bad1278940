package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// subscriptionConditions returns the conditions of all Subscriptions.
func subscriptionConditions(ctx context.Context) string {
	GinkgoHelper()
	return kubectl(ctx, "get", "subscriptions.operators.coreos.com", "-o",
		`jsonpath={range .items[*].status.conditions[?(@.status=="True")]}{.type} {.reason} {.message}{"\n"}{end}`)
}

// operatorGroup is the manifest of the OperatorGroup in install.md.
const operatorGroup = `apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: echo-operator, namespace: $namespace}
spec: {}
`

// Each spec covers a row in docs/reference/troubleshooting.md. Other rows have tests in other files: failure_test.go (Failed),
// approval_test.go (RequiresApproval), and disconnected_test.go (BundleUnpackFailed).
var _ = Describe("an installation that is stuck", Label("all"), func() {
	// apply runs the documented commands with one change, and without waiting.
	apply := func(ctx context.Context, from, to string) {
		GinkgoHelper()
		run(ctx, withoutWaiting(changed(installation(version(0)), from, to)))
	}
	phases := func(ctx context.Context) string {
		return kubectl(ctx, "get", "csv", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.phase} {.status.reason}{"\n"}{end}`)
	}

	It("because the catalog's image cannot be pulled", func(ctx SpecContext) {
		apply(ctx, "echo-operator-catalog:v", "echo-operator-catalog:no-v")
		Eventually(subscriptionConditions).WithContext(ctx).Should(
			ContainSubstring("ResolutionFailed ErrorPreventedResolution error using catalogsource olm/echo-operator"))
		Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("get", "pods", "-n", "olm", "-l", "olm.catalogSource=echo-operator").
			Should(Or(ContainSubstring("ErrImagePull"), ContainSubstring("ImagePullBackOff")))
		pointCatalogAt(ctx, version(0))
		expectSucceeded(ctx, version(0))
	}, SpecTimeout(10*time.Minute))

	It("because the catalog does not have the channel", func(ctx SpecContext) {
		apply(ctx, "channel: stable", "channel: nightly")
		Eventually(subscriptionConditions).WithContext(ctx).Should(And(ContainSubstring("ResolutionFailed"),
			ContainSubstring("no operators found in channel nightly")))
		Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("get", "packagemanifest", "echo-operator", "--ignore-not-found", "-o",
			"yaml").
			Should(And(ContainSubstring("name: candidate"), ContainSubstring("name: stable")))
		kubectl(ctx, "patch", "subscriptions.operators.coreos.com/echo-operator", "--type=merge", "-p", `{"spec": {"channel": "stable"}}`)
		expectSucceeded(ctx, version(0))
	}, SpecTimeout(10*time.Minute))

	It("because the catalog does not have the package", func(ctx SpecContext) {
		apply(ctx, "spec: {name: echo-operator, channel", "spec: {name: echo-operators, channel")
		Eventually(subscriptionConditions).WithContext(ctx).Should(And(ContainSubstring("ResolutionFailed"),
			ContainSubstring("no operators found in package echo-operators")))
	}, SpecTimeout(10*time.Minute))

	DescribeTable("because the namespace does not have exactly one OperatorGroup", func(ctx SpecContext, found, from, to, fix string) {
		apply(ctx, from, to)
		Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("logs", "-n", "olm", "deployment/catalog-operator").
			Should(ContainSubstring("found " + found + " operatorGroups, expected 1"))
		Expect(kubectl(ctx, "get", "installplans,csv", "-o", "name")).To(BeEmpty())
		run(ctx, fix)
		expectSucceeded(ctx, version(0))
	},
		Entry("but none", SpecTimeout(10*time.Minute), "0", operatorGroup+"---\n", "", "kubectl create -f - <<END\n"+operatorGroup+"END\n"),
		Entry("but two", SpecTimeout(10*time.Minute), "2", operatorGroup,
			strings.Replace(operatorGroup, "{name: echo-operator", "{name: second", 1)+"---\n"+operatorGroup,
			"kubectl delete -n $namespace operatorgroup/second"),
	)

	It("because the OperatorGroup is deleted later, or a second one is created", func(ctx SpecContext) {
		run(ctx, installation(version(0)))
		kubectl(ctx, "delete", "operatorgroup", "echo-operator")
		Eventually(phases).WithContext(ctx).Should(ContainSubstring("Failed NoOperatorGroup"))
		run(ctx, "kubectl create -f - <<END\n"+operatorGroup+"END\n")
		expectSucceeded(ctx, version(0))
		run(ctx, "kubectl create -f - <<END\n"+strings.Replace(operatorGroup, "{name: echo-operator", "{name: second", 1)+"END\n")
		Eventually(phases).WithContext(ctx).Should(ContainSubstring("Failed TooManyOperatorGroups"))
		kubectl(ctx, "delete", "operatorgroup", "second")
		expectSucceeded(ctx, version(0))
	}, SpecTimeout(10*time.Minute))

	It("because the Subscription was deleted, but not its ClusterServiceVersion", func(ctx SpecContext) {
		run(ctx, installation(version(0)))
		kubectl(ctx, "delete", "subscriptions.operators.coreos.com/echo-operator")
		apply(ctx, "channel: stable", "channel: stable")
		Eventually(subscriptionConditions).WithContext(ctx).Should(And(ContainSubstring("ResolutionFailed"),
			ContainSubstring("exists and is not referenced by a subscription")))
		kubectl(ctx, "delete", "csv", "echo-operator.v"+version(0))
		expectSucceeded(ctx, version(0))
	}, SpecTimeout(10*time.Minute))
})
