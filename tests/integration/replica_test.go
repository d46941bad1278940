package integration

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/echo-operator/echo-operator/internal/discovery"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// replica is an operator that restarts whenever it exits, as if the kubelet restarted it. It checks for APIs more often than the released
// program.
type replica struct {
	stop func()

	lock  sync.Mutex
	ended []time.Time // protected by lock
}

// shortTimes returns discovery times that are short enough for tests.
func shortTimes() discovery.Times {
	return discovery.Times{Period: 2 * time.Second, Rest: 6 * time.Second}
}

// startReplica starts a replica. The caller must stop the replica.
func startReplica(config *rest.Config, change func(*operator.Options)) *replica {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	r, done := &replica{}, make(chan struct{})
	r.stop = func() {
		cancel()
		Eventually(done).WithTimeout(20 * time.Second).Should(BeClosed())
	}
	go func() {
		defer GinkgoRecover()
		defer close(done)
		for ctx.Err() == nil {
			next, err := controlplane.NewOperatorWith(config, func(o *operator.Options) {
				o.Discovery = shortTimes()
				change(o)
			})
			Expect(err).NotTo(HaveOccurred())
			Expect(next.Start(ctx)).To(Succeed())
			r.lock.Lock()
			r.ended = append(r.ended, time.Now())
			r.lock.Unlock()
		}
	}()
	return r
}

// ends returns the times at which the operator exited.
func (r *replica) ends() []time.Time {
	r.lock.Lock()
	defer r.lock.Unlock()
	return append([]time.Time{}, r.ended...)
}

// expectStarts expects that the operator restarts after a step, but at most the given number of times.
func (r *replica) expectStarts(ctx context.Context, most int, step func()) {
	GinkgoHelper()
	before := len(r.ends())
	starts := func() int { return len(r.ends()) - before }
	step()
	Eventually(starts).WithContext(ctx).WithTimeout(time.Minute).ShouldNot(BeZero())
	Consistently(starts).WithContext(ctx).WithTimeout(4 * shortTimes().Period).Should(BeNumerically("<=", most))
}
