package crashes

import (
	"math/rand/v2"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// specTimeout limits the duration of a Ginkgo spec, and allows for a busy machine.
const specTimeout = 15 * time.Minute

var _ = Describe("the operator", func() {
	It("is killed at random moments", func(ctx SpecContext) {
		s := newStage(ctx).probe(ctx)
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 1))
		for _, wait := range []bool{true, false, false, false} {
			leader, _ := awaitLeader(ctx)
			s.await(ctx, 3+random.IntN(10))
			kill(ctx, leader)
			if !wait {
				dropLease(ctx)
			}
			expectRestart(ctx, leader)
		}
		leader, other := awaitLeader(ctx)
		s.await(ctx, 3+random.IntN(10))
		kill(ctx, leader, other)
		expectRestart(ctx, leader)
		s.await(ctx, 10)
		s.verify(ctx)
	}, SpecTimeout(specTimeout))

	It("loses its lease to the other replica, and both replicas work for some time", func(ctx SpecContext) {
		s := newStage(ctx).probe(ctx)
		s.await(ctx, 5)

		crash("stopping the leader, which does not notice that the other replica takes the lease")
		leader, other := awaitLeader(ctx)
		process := realcluster.ProcessOf(leader)
		Expect(process.Signal(syscall.SIGSTOP)).To(Succeed())
		DeferCleanup(func() { _ = process.Signal(syscall.SIGCONT) }) // fails if the spec succeeded, because the process has exited
		dropLease(ctx)
		Eventually(func(g Gomega) {
			g.Expect(lease(ctx, g).Spec.HolderIdentity).To(HaveValue(HavePrefix(other.Name + "_")))
		}).WithContext(ctx).Should(Succeed())
		s.await(ctx, 5)
		Expect(process.Signal(syscall.SIGCONT)).To(Succeed())
		expectRestart(ctx, leader)

		crash("giving the lease to a client that does not exist")
		leader, _ = awaitLeader(ctx)
		s.await(ctx, 5)
		held := lease(ctx, Default)
		before := held.DeepCopy()
		held.Spec.HolderIdentity = new("another-client")
		Expect(k8s.Patch(ctx, held, client.MergeFrom(before))).To(Succeed())
		expectRestart(ctx, leader)

		awaitLeader(ctx)
		s.await(ctx, 5)
		crash("deleting the lease, which either replica may acquire")
		dropLease(ctx)
		s.await(ctx, 20)
		s.verify(ctx)
	}, SpecTimeout(specTimeout))
})
