package olm

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the operator in OLM v1", Ordered, Label("all"), func() {
	install := func(ctx SpecContext) { run(ctx, documented(version(0), "## With OLM v1")) }

	BeforeAll(func(ctx SpecContext) {
		run(ctx, "cd ../.. && tests/olm/install-olmv1")
	}, NodeTimeout(10*time.Minute))

	It("is installed by a ClusterExtension", func(ctx SpecContext) {
		install(ctx)
		createEcho(ctx, "default")
		waitReady(ctx, "default")
	}, SpecTimeout(5*time.Minute))

	It("is upgraded while requests run", func(ctx SpecContext) {
		before, prober := echoPods(ctx), startProber(ctx)
		run(ctx, changed(documented(version(1), "## Upgrading, with OLM v1"), "version=1.2.3", "version="+version(1)))
		Eventually(echoPods).WithContext(ctx).ShouldNot(Equal(before))
		waitReady(ctx, "default")
		seen := prober.Stop(ctx)
		Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
	}, SpecTimeout(8*time.Minute))

	It("goes without leaving anything", func(ctx SpecContext) {
		run(ctx, documented(version(0), "## Uninstalling, with OLM v1"))
		expectNothingLeft(ctx)
	}, SpecTimeout(5*time.Minute))

	It("is done without when it went before its Echoes, by the documented steps", func(ctx SpecContext) {
		install(ctx)
		createEcho(ctx, "default")
		waitReady(ctx, "default")
		support.Kubectl(ctx, "delete", "clusterextension", "echo-operator", "--wait=false")
		support.Kubectl(ctx, "wait", "--for=delete", "-n", operatorNamespace, "deployment/echo-operator-controller-manager", "--timeout=1m")
		expectEchoesLetGo(ctx)
		_, others, _ := strings.Cut(documented(version(0), "## Uninstalling, with OLM v1"), "\n") // the first deletes Echoes
		run(ctx, others)
		expectNothingLeft(ctx)
	}, SpecTimeout(8*time.Minute))
})
