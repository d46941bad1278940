package helm

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the chart", func() {
	for _, helm := range []program{helm3, helm4} {
		Context("with "+string(helm), Ordered, lifecycle(helm))
		It("takes over an installation by kubectl apply with "+string(helm), takeover(helm), SpecTimeout(15*time.Minute))
	}
})

func lifecycle(helm program) func() {
	return func() {
		var image string // the image of the first version
		It("is installed", func(ctx SpecContext) {
			helm.run(ctx, installation(realcluster.ReleasedVersion(0)))
			realcluster.CreateSample(ctx, "default")
			realcluster.AwaitSample(ctx, "default")
			var err error
			image, err = realcluster.SampleImage(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(image).To(HavePrefix("quay.io/echo-operator/echo-server@sha256:"))
		}, SpecTimeout(10*time.Minute))

		It("has the settings from its values, and permissions only in watched namespaces", func(ctx SpecContext) {
			helm.run(ctx, realcluster.Changed(upgrade(realcluster.ReleasedVersion(0)), "--wait",
				"--wait --set settings.MAX_REPLICAS=3,watchNamespaces={default},networkPolicy.enabled=true"))
			Expect(realcluster.Kubectl(ctx, "get", "clusterrolebinding", "-o", "name")).NotTo(ContainSubstring("echo-operator-manager-rolebinding"))
			Expect(operator(ctx, "get", "networkpolicy", "-o", "name")).To(ContainSubstring("/echo-operator-controller-manager"))
			expectSettings(ctx)
		}, SpecTimeout(10*time.Minute))

		It("is upgraded and rolled back without dropping requests, and keeps its values", func(ctx SpecContext) {
			prober := realcluster.ProbeSample(ctx)
			helm.run(ctx, upgrade(realcluster.ReleasedVersion(1)))
			realcluster.AwaitSampleImage(ctx, And(HavePrefix("quay.io/echo-operator/echo-server@sha256:"), Not(Equal(image))))
			expectSettings(ctx)
			helm.run(ctx, realcluster.Documented(realcluster.ReleasedVersion(1), installPage, "To go back to the previous version"))
			realcluster.AwaitSampleImage(ctx, Equal(image))
			expectSettings(ctx)
			seen := prober.Stop(ctx)
			Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
			Expect(len(seen.Pods)).To(BeNumerically(">", 2), "pods of both versions must have responded")
		}, SpecTimeout(10*time.Minute))

		It("is uninstalled without leaving anything behind", func(ctx SpecContext) {
			helm.uninstall(ctx)
		}, SpecTimeout(10*time.Minute))
	}
}

func expectSettings(ctx context.Context) {
	GinkgoHelper()
	Expect(operator(ctx, "get", "deployment/echo-operator-controller-manager", "-o", "jsonpath={.spec.template.spec.containers[0].env}")).
		To(And(ContainSubstring(`{"name":"MAX_REPLICAS","value":"3"}`), ContainSubstring(`{"name":"WATCH_NAMESPACE","value":"default"}`)))
}

func takeover(helm program) func(SpecContext) {
	return func(ctx SpecContext) {
		first, second := realcluster.ReleasedVersion(0), realcluster.ReleasedVersion(1)
		helm.run(ctx, realcluster.Documented(first, installPage, "## Without OLM"))
		realcluster.CreateSample(ctx, "default")
		realcluster.AwaitSample(ctx, "default")
		pods, prober := realcluster.SamplePods(ctx), realcluster.ProbeSample(ctx)
		helm.run(ctx, helm.takeover(first))
		Expect(operator(ctx, "get", "deployment/echo-operator-controller-manager", "-o", "jsonpath={.metadata.labels}")).
			To(ContainSubstring(`"app.kubernetes.io/managed-by":"Helm"`))
		Expect(realcluster.SamplePods(ctx)).To(Equal(pods))
		helm.run(ctx, helm.forced(upgrade(second)))
		realcluster.AwaitSample(ctx, "default")
		seen := prober.Stop(ctx)
		Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
		helm.uninstall(ctx)
	}
}
