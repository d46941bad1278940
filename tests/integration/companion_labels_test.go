package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// The operator's cache does not contain companions whose labels were removed.
var _ = Describe("a companion whose labels another client removed", func() {
	It("gets its labels back", func(ctx SpecContext) {
		echo, owner := createEchoAndOwner(ctx, "restored")
		companion := eventuallyOne(ctx, k8s, owner)
		edit(ctx, companion, func(p *corev1.Pod) { p.Labels = nil })
		Expect(eventuallyOne(ctx, k8s, owner).UID).To(Equal(companion.UID))
		expectCompanions(ctx, echo, 1)
	})
})
