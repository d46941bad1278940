package helm

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("Echoes of a chart that is uninstalled", func() {
	for _, helm := range []program{helm3, helm4} {
		for _, keep := range []bool{true, false} {
			It(fmt.Sprintf("respond, and are deleted once it is installed again, with crds.keep=%t and %s", keep, helm), leaveEchoes(helm, keep),
				SpecTimeout(15*time.Minute))
		}
	}
})

func leaveEchoes(helm program, keep bool) func(SpecContext) {
	return func(ctx SpecContext) {
		install := installation(realcluster.ReleasedVersion(1))
		again := install
		if !keep {
			again = realcluster.Changed(install, " --wait", " --set crds.keep=false")
			install = again + "kubectl rollout status -n $namespace --timeout=2m deployment/echo-operator-controller-manager\n"
		}
		helm.run(ctx, install)
		realcluster.CreateSample(ctx, "default")
		realcluster.AwaitSample(ctx, "default")

		By("running without the operator")
		prober := realcluster.ProbeSample(ctx)
		helm.run(ctx, "helm uninstall echo-operator --namespace $namespace")
		awaitOperatorGone(ctx)
		if keep {
			Expect(sample(ctx, ".metadata.deletionTimestamp")).To(BeEmpty())
			realcluster.Kubectl(ctx, "delete", "-n", "default", "echo/test-echo", "--wait=false")
		}
		Consistently(sample).WithContext(ctx).WithTimeout(10 * time.Second).WithArguments(".metadata.deletionTimestamp").ShouldNot(BeEmpty())
		seen := prober.Stop(ctx)
		Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)

		By("being deleted when the chart is installed again")
		helm.run(ctx, again)
		Eventually(sample).WithContext(ctx).WithArguments(".metadata.name").Should(BeEmpty())
		if !keep {
			realcluster.Kubectl(ctx, "wait", "--for=delete", definition, realcluster.WaitTimeout)
			helm.run(ctx, upgrade(realcluster.ReleasedVersion(1)))
		}
		realcluster.CreateSample(ctx, "default")
		realcluster.AwaitSample(ctx, "default")
		helm.uninstall(ctx)
	}
}
