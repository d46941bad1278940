package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("a Subscription with manual approval", Ordered, Label("all"), func() {
	install := func() string { return installation(version(0)) }
	approve := func(ctx SpecContext) {
		run(ctx, realcluster.Documented(version(0), installPage, "With `installPlanApproval: Manual`"))
	}

	It("installs the operator after approval", func(ctx SpecContext) {
		// The commands must not wait until the version is installed, because the installation requires approval first.
		manual := changed(install(), "{name: echo-operator, channel", "{installPlanApproval: Manual, name: echo-operator, channel")
		run(ctx, withoutWaiting(manual))
		Eventually(tryKubectl).WithContext(ctx).WithArguments("get", "installplan", "-o",
			"jsonpath={.items[*].spec.approved}").Should(Equal("false"))
		Expect(kubectl(ctx, "get", "csv,deployment", "-o", "name")).To(BeEmpty())
		approve(ctx)
		expectSucceeded(ctx, version(0))
	}, SpecTimeout(10*time.Minute))

	It("upgrades the operator after approval", func(ctx SpecContext) {
		pointCatalogAt(ctx, version(1))
		Eventually(tryKubectl).WithContext(ctx).WithArguments("get", "subscription", "-o",
			"jsonpath={.items[*].status.state}").Should(Equal("UpgradePending"))
		expectSucceeded(ctx, version(0))
		approve(ctx)
		expectSucceeded(ctx, version(1))
		uninstall(ctx)
	}, SpecTimeout(10*time.Minute))
})

// The other specs use a catalog that follows the releases.
var _ = Describe("a catalog with a fixed version", Label("all"), func() {
	It("upgrades the operator from a digest when a version is chosen", func(ctx SpecContext) {
		run(ctx, pinned(ctx, realcluster.Documented(version(0), installPage, "## With OLM, from a catalog"), version(0)))
		expectSucceeded(ctx, version(0))
		run(ctx, upgradeByOLM(version(1)))
		expectSucceeded(ctx, version(1))
		uninstall(ctx)
	}, SpecTimeout(15*time.Minute))
})

// pinned returns commands in which the digest of a version's catalog image replaces the tag, as verify-a-release.md recommends.
func pinned(ctx context.Context, commands, version string) string {
	GinkgoHelper()
	digest := support.Run(ctx, "cd ../.. && $(tools/build image)/crane digest "+clusterRegistry+"/echo-operator/echo-operator-catalog:v"+version)
	return changed(commands, "echo-operator-catalog:latest", "echo-operator-catalog@"+strings.TrimSpace(digest))
}
