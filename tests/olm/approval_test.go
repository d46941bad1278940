package olm

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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
