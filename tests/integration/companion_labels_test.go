package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// The operator's cache does not contain companions whose labels were removed.
var _ = Describe("a companion whose labels another client removed", func() {
	removeLabels := func(ctx context.Context, companion *corev1.Pod) {
		GinkgoHelper()
		edit(ctx, companion, func(p *corev1.Pod) { p.Labels = nil })
	}

	It("gets its labels back", func(ctx SpecContext) {
		echo, owner := createEchoAndOwner(ctx, "restored")
		companion := eventuallyOne(ctx, k8s, owner)
		removeLabels(ctx, companion)
		Expect(eventuallyOne(ctx, k8s, owner).UID).To(Equal(companion.UID))
		expectCompanions(ctx, echo, 1)
	})

	DescribeTable("while its Echo was paused, is deleted when", func(ctx SpecContext, end func(context.Context, *v1.Echo, *corev1.Pod)) {
		echo, owner := createEchoAndOwner(ctx, "stripped")
		companion := eventuallyOne(ctx, k8s, owner)
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Paused = true })
		support.EventuallyObject(ctx, k8s, echo).Should(haveCondition(v1.ConditionProgressing, metav1.ConditionFalse, v1.ReasonPaused))
		removeLabels(ctx, companion)
		expectCompanions(ctx, echo, 0)
		Expect(get(ctx, Default, companion.Namespace, companion.Name, companion).Labels).To(BeEmpty())
		end(ctx, echo, owner)
		eventuallyGone(ctx, k8s, companion)
	},
		Entry("its Echo is deleted", func(ctx context.Context, echo *v1.Echo, _ *corev1.Pod) {
			Expect(k8s.Delete(ctx, echo)).To(Succeed())
			eventuallyReleased(ctx, k8s, echo)
		}),
		Entry("its owner loses the label", func(ctx context.Context, _ *v1.Echo, owner *corev1.Pod) {
			edit(ctx, owner, func(p *corev1.Pod) { delete(p.Labels, v1.CompanionLabel) })
		}),
	)
})
