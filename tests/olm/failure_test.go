package olm

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = DescribeTable("an upgrade to an operator that crashes", Label("all"), func(ctx SpecContext, recovery func() string) {
	run(ctx, installation(version(1)))
	realcluster.CreateSample(ctx, "default")
	realcluster.AwaitSample(ctx, "default")
	before, prober := realcluster.SamplePods(ctx), realcluster.ProbeSample(ctx)

	By("upgrading to the broken version")
	pointCatalogAt(ctx, version(2))
	Eventually(tryKubectl).WithContext(ctx).WithTimeout(20*time.Minute).
		WithArguments("get", "csv", "-o", "jsonpath={range .items[*]}{.metadata.name} {.status.phase};{end}").
		Should(ContainSubstring("echo-operator.v" + version(2) + " Failed"))
	Expect(realcluster.SamplePods(ctx)).To(Equal(before))
	Expect(kubectl(ctx, "get", "deployment/echo-operator-controller-manager", "-o", "jsonpath={.status.readyReplicas}")).To(Equal("1"),
		"one old replica of the operator continues to run")

	By("publishing a fixed version, which is not sufficient")
	pointCatalogAt(ctx, version(3))
	Eventually(realcluster.TryKubectl).WithContext(ctx).WithTimeout(5*time.Minute).WithArguments("get", "packagemanifest", "echo-operator",
		"--ignore-not-found", "-o", "jsonpath={.status.channels[*].currentCSV}").
		Should(ContainSubstring("echo-operator.v" + version(3)))
	Consistently(kubectl).WithContext(ctx).WithTimeout(20*time.Second).WithArguments("get", "csv", "-o", "name").
		ShouldNot(ContainSubstring("echo-operator.v" + version(3)))

	By("recovering")
	run(ctx, recovery())
	expectSucceeded(ctx, version(3))
	realcluster.AwaitSample(ctx, "default")
	Eventually(realcluster.SamplePods).WithContext(ctx).ShouldNot(Equal(before))
	seen := prober.Stop(ctx)
	Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
	uninstall(ctx)
},
	Entry("recovers by failing forward", SpecTimeout(45*time.Minute),
		func() string { return realcluster.Documented(version(3), installPage, "Allow OLM to upgrade") }),
	Entry("recovers when the operator is reinstalled", SpecTimeout(45*time.Minute),
		func() string { return realcluster.Documented(version(3), installPage, "Alternatively, reinstall") }),
)
