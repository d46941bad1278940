package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("an Echo that is not ready", func() {
	DescribeTable("reports the cause, and becomes ready when the cause is gone",
		func(ctx SpecContext, reason v1.Reason, message string, breakIt, repair func(*v1.EchoSpec)) {
			echo := support.Echo(namespaces.New(ctx), "broken", func(e *v1.Echo) { breakIt(&e.Spec) })
			Expect(k8s.Create(ctx, echo)).To(Succeed())
			expectCause(ctx, echo, reason, message)
			Eventually(realcluster.TryKubectl).WithContext(ctx).
				WithArguments("get", "events", "-n", echo.Namespace, "--field-selector=involvedObject.kind=Echo,type=Warning").
				Should(MatchRegexp("NotReady.*" + message))
			edit(ctx, echo, repair)
			waitReady(ctx, echo)
			Expect(meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady).Reason).To(Equal(v1.ReasonAllPodsReady.String()))
		},
		Entry("an image that does not exist", SpecTimeout(8*time.Minute), v1.ReasonImagePullFailed,
			`Image quay.io/echo-operator/none:1 cannot be pulled: .*not found`, func(s *v1.EchoSpec) { s.Image = "quay.io/echo-operator/none:1" },
			func(s *v1.EchoSpec) { s.Image = "" }),
		Entry("containers that crash", SpecTimeout(8*time.Minute), v1.ReasonPodsCrashing, `exit code 2: .*ECHO_DRAIN_DELAY`,
			func(s *v1.EchoSpec) { s.Env = []corev1.EnvVar{{Name: "ECHO_DRAIN_DELAY", Value: "soon"}} }, func(s *v1.EchoSpec) { s.Env = nil }),
		Entry("a Secret that does not exist", SpecTimeout(8*time.Minute), v1.ReasonContainerNotStarted, `secret 'none' not found.*Create the Secret`,
			func(s *v1.EchoSpec) {
				s.Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
					Name: "none", Key: "x"}}}}
			}, func(s *v1.EchoSpec) { s.Env = nil }),
		Entry("no suitable node", SpecTimeout(8*time.Minute), v1.ReasonUnschedulable,
			"nodes are available: .*didn't match Pod's node affinity/selector",
			func(s *v1.EchoSpec) { s.NodeSelector = map[string]v1.LabelValue{"example.com/none": "such"} }, func(s *v1.EchoSpec) { s.NodeSelector = nil }),
		Entry("Pod Security", SpecTimeout(8*time.Minute), v1.ReasonPodsRejected, `violates PodSecurity 'restricted:latest'.*Change spec.podSecurityContext`,
			func(s *v1.EchoSpec) { s.SecurityContext = &corev1.SecurityContext{} }, func(s *v1.EchoSpec) { s.SecurityContext = nil }),
	)

	It("reports that a quota is exceeded, keeps its pods, and continues when the quota allows it", func(ctx SpecContext) {
		namespace := namespaces.New(ctx)
		quota := &corev1.ResourceQuota{Namespace: namespace, Name: "few",
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}}}
		Expect(k8s.Create(ctx, quota)).To(Succeed())
		support.EventuallyObject(ctx, k8s, quota).Should(HaveField("Status.Hard", Not(BeEmpty())))
		echo := support.Echo(namespace, "many")
		createReady(ctx, echo)
		edit(ctx, echo, func(s *v1.EchoSpec) { s.Replicas = new(int32(3)) })
		expectCause(ctx, echo, v1.ReasonQuotaExceeded, "A resource quota rejects the pods: .exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2")
		Expect(echo.Status.ReadyReplicas).To(BeEquivalentTo(2))
		realcluster.Kubectl(ctx, "patch", "resourcequota", "few", "-n", namespace, "--type=merge", "-p", `{"spec": {"hard": {"pods": "9"}}}`)
		waitReady(ctx, echo)
	}, SpecTimeout(10*time.Minute))
})

var _ = Describe("an Echo above the operator's limit", func() {
	It("keeps its pods, reports what to do, and recovers below the limit", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "greedy")
		createReady(ctx, echo)
		before := pods(ctx, Default, echo)
		realcluster.Kubectl(ctx, "patch", "echo", echo.Name, "-n", echo.Namespace, "--type=merge", "-p", `{"spec": {"replicas": 100}}`)
		expectCause(ctx, echo, v1.ReasonInvalidSpec, "allows at most 20")
		Eventually(realcluster.TryKubectl).WithContext(ctx).
			WithArguments("get", "events", "-n", echo.Namespace, "--field-selector", "involvedObject.kind=Echo,type=Warning").
			Should(MatchRegexp("InvalidSpec.*allows at most 20.*MAX_REPLICAS"))
		Expect(pods(ctx, Default, echo)).To(ConsistOf(HaveField("Name", before[0].Name), HaveField("Name", before[1].Name)))
		realcluster.Kubectl(ctx, "scale", "echo", echo.Name, "-n", echo.Namespace, "--replicas=2")
		waitReady(ctx, echo)
		Expect(pods(ctx, Default, echo)).To(ConsistOf(HaveField("Name", before[0].Name), HaveField("Name", before[1].Name)))
	}, SpecTimeout(8*time.Minute))
})

// expectCause expects an Echo's status to report why the Echo is not ready. message is a regular expression.
func expectCause(ctx context.Context, echo *v1.Echo, reason v1.Reason, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.Reason).To(Equal(reason.String()), ready.Message)
		g.Expect(echo.Status.Message).To(MatchRegexp(message))
	}).WithContext(ctx).Should(Succeed())
}
