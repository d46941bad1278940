package olm

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the operator with Helm", func() {
	It("is installed, upgraded, rolled back and removed with the chart of a release", func(ctx SpecContext) {
		run(ctx, documented(version(0), installPage, "## With Helm"))
		createEcho(ctx, "default")
		waitReady(ctx, "default")
		before := echoPods(ctx)
		run(ctx, changed(documented(version(1), installPage, "## Upgrading, with Helm"), "version=1.2.3", "version="+version(1)))
		Eventually(echoPods).WithContext(ctx).ShouldNot(Equal(before), "the echo servers have the version of the operator")
		waitReady(ctx, "default")
		run(ctx, documented(version(1), installPage, "This goes back to the version before"))
		waitReady(ctx, "default")
		run(ctx, documented(version(1), installPage, "## Uninstalling, with Helm"))
		expectNothingLeft(ctx)
	}, SpecTimeout(15*time.Minute))

	It("takes over what install.yaml has installed", func(ctx SpecContext) {
		run(ctx, documented(version(0), installPage, "## Without OLM"))
		createEcho(ctx, "default")
		waitReady(ctx, "default")
		before := echoPods(ctx)
		run(ctx, documented(version(0), installPage, "An installation by `kubectl apply` becomes one of Helm"))
		Expect(echoPods(ctx)).To(Equal(before))
		run(ctx, documented(version(0), installPage, "## Uninstalling, with Helm"))
		expectNothingLeft(ctx)
	}, SpecTimeout(15*time.Minute))
})
