package olm

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
)

// The other specs use a catalog that follows the releases.
var _ = Describe("a catalog with a fixed version", Label("all"), func() {
	It("upgrades the operator when another version is chosen", func(ctx SpecContext) {
		run(ctx, installation(version(0)))
		expectSucceeded(ctx, version(0))
		run(ctx, upgradeByOLM(version(1)))
		expectSucceeded(ctx, version(1))
		uninstall(ctx)
	}, SpecTimeout(15*time.Minute))
})
