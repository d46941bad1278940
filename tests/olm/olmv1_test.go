package olm

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the operator in OLM v1", Label("all"), func() {
	BeforeEach(func(ctx SpecContext) {
		run(ctx, "cd ../.. && tests/olm/install-olmv1")
	}, OncePerOrdered, NodeTimeout(20*time.Minute))

	It("installs from a digest, and is not needed to delete Echoes with the documented steps", func(ctx SpecContext) {
		commands := realcluster.Documented(version(0), installPage, "## With OLM v1")
		run(ctx, pinned(ctx, changed(commands, ", pollIntervalMinutes: 30", ""), version(0)))
		pod := createKeptEcho(ctx)
		// The removal also deletes the CustomResourceDefinition, and therefore all Echoes.
		realcluster.Kubectl(ctx, "delete", "clusterextension", "echo-operator", "--wait=false")
		awaitOperatorGone(ctx)
		expectEchoesLetGo(ctx, pod)
		// The first command would delete Echoes, but the Echoes are already gone.
		_, steps, _ := strings.Cut(realcluster.Documented(version(0), installPage, "## Uninstalling with OLM v1"), "\n")
		run(ctx, steps)
		expectNothingLeft(ctx)
	}, SpecTimeout(15*time.Minute))
})

// installationByOLMv1 returns the documented commands that install a version from a catalog that has no later versions.
func installationByOLMv1(version string) string {
	GinkgoHelper()
	return changed(realcluster.Documented(version, installPage, "## With OLM v1"), "echo-operator-catalog:latest", "echo-operator-catalog:v"+version)
}

// upgradeByOLMv1 returns the documented commands that upgrade to a version.
func upgradeByOLMv1(version string) string {
	GinkgoHelper()
	return changed(realcluster.Documented(version, installPage, "## Upgrading with OLM v1"), "version=1.2.3", "version="+version)
}
