package crashes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = DescribeTable("the control plane is killed and started again",
	func(ctx SpecContext, processes ...string) {
		s := newStage(ctx).probe(ctx)
		for range 2 {
			s.await(ctx, 8)
			killCluster(ctx, processes...)
			cluster(ctx, append([]string{"revive"}, processes...)...)
		}

		s.await(ctx, 8)
		leader, _ := awaitLeader(ctx)
		process := realcluster.ProcessOf(leader)
		Expect(process).NotTo(BeNil())
		killCluster(ctx, processes...)
		Eventually(func() bool { return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) }).WithContext(ctx).Should(BeTrue())
		cluster(ctx, append([]string{"revive"}, processes...)...)
		s.await(ctx, 8)
		s.verify(ctx)
	},
	Entry("the API server", SpecTimeout(specTimeout), "kube-apiserver"),
	Entry("etcd", SpecTimeout(specTimeout), "etcd"),
)

// killCluster kills processes of the test cluster. After the test, it starts the processes again.
func killCluster(ctx context.Context, processes ...string) {
	GinkgoHelper()
	expectNoPanic(ctx)
	crash(fmt.Sprint("killing ", processes))
	DeferCleanup(func(ctx SpecContext) { cluster(ctx, append([]string{"revive"}, processes...)...) }, NodeTimeout(3*time.Minute))
	cluster(ctx, append([]string{"kill"}, processes...)...)
}
