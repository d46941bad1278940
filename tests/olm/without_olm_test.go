package olm

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the operator without OLM", func() {
	It("is installed, upgraded and removed with the install.yaml of a release", func(ctx SpecContext) {
		run(ctx, realcluster.Documented(version(0), installPage, "## Without OLM"))
		createEcho(ctx, "default")
		waitReady(ctx, "default")
		run(ctx, realcluster.Documented(version(1), installPage, "## Without OLM"))
		waitReady(ctx, "default")
		run(ctx, realcluster.Documented(version(1), installPage, "## Uninstalling without OLM"))
		expectNothingLeft(ctx)
	}, SpecTimeout(10*time.Minute))
})
