package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the operator in OLM v1", Label("all"), func() {
	BeforeEach(func(ctx SpecContext) {
		run(ctx, "cd ../.. && tests/olm/install-olmv1")
	}, OncePerOrdered, NodeTimeout(20*time.Minute))

	Describe("from installation to removal", Ordered, func() {
		It("is installed by a ClusterExtension", func(ctx SpecContext) {
			run(ctx, installationByOLMv1(version(0)))
			expectSettled(ctx)
			createEcho(ctx, "default")
			waitReady(ctx, "default")
		}, SpecTimeout(10*time.Minute))

		It("is upgraded without dropping requests", func(ctx SpecContext) {
			before, prober := echoPods(ctx), startProber(ctx)
			run(ctx, upgradeByOLMv1(version(1)))
			expectSettled(ctx)
			Eventually(echoPods).WithContext(ctx).ShouldNot(Equal(before))
			waitReady(ctx, "default")
			seen := prober.Stop(ctx)
			Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
		}, SpecTimeout(15*time.Minute))

		It("is uninstalled without leaving anything behind", func(ctx SpecContext) {
			run(ctx, realcluster.Documented(version(0), installPage, "## Uninstalling with OLM v1"))
			expectNothingLeft(ctx)
		}, SpecTimeout(10*time.Minute))
	})

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

// expectSettled waits until OLM has nothing left to retry. OLM retries, for example, if a permission is missing.
func expectSettled(ctx context.Context) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "wait", "clusterextension/echo-operator", waitTimeout,
		`--for=jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=Succeeded`)
}
