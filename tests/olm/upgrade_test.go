package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

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
