package integration

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/tests/support"
)

// These constants limit counts instead of times, because times depend on the machine (make benchmark).
const (
	manyEchoes = 100
	// writesOfOne is the number of writes for a new Echo with one replica: the finalizer, the Service, the Deployment, and the status, but
	// not the event.
	writesOfOne = 4
	// writesOfTwo includes the PodDisruptionBudget of an Echo with two replicas.
	writesOfTwo = writesOfOne + 1
	// otherWatches is the number of watches for Echoes, nodes, pods, pods with the companion label, and CronJobs.
	otherWatches = 5
	// maxStartRequests limits the requests of a starting process, except watches: discovery, permission checks, and two reviews of the
	// test's token.
	maxStartRequests = 9
	// maxAllocations limits the number of allocations in a reconcile that changes nothing.
	maxAllocations = 500
)

var _ = Describe("what an Echo costs", func() {
	It("is one reconcile with one request for each write", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		server, admin := startCluster()
		allowMetrics(ctx, admin)
		environment := []string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig)}
		token := tokenOf(ctx, Default, admin, "default", "scraper")
		start := func() func() requestCounts {
			address := freeAddress()
			startProgram(environment, "--health-probe-bind-address=0", "--metrics-bind-address="+address)
			return func() requestCounts { return requestsOf(ctx, "https://"+address+"/metrics", token) }
		}

		counts := start()
		first := quiet(ctx, counts)
		for i := range manyEchoes {
			echo := support.Echo("default", fmt.Sprintf("echo-%d", i))
			echo.Spec.Replicas = new(int32(1 + i%2))
			Expect(admin.Create(ctx, echo)).To(Succeed())
		}
		Eventually(func(g Gomega) {
			list := &v1.EchoList{}
			g.Expect(admin.List(ctx, list)).To(Succeed())
			for _, echo := range list.Items {
				g.Expect(echo.Status.Conditions).NotTo(BeEmpty())
			}
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		now := quiet(ctx, counts)
		Expect(now.patches-first.patches).To(BeEquivalentTo((writesOfOne+writesOfTwo)*manyEchoes/2), "writes that succeeded")
		Expect(now.posts-first.posts).To(BeNumerically("~", manyEchoes, 0.02*manyEchoes), "events, and reviews of the tokens of the test")
		Expect(now.gets-first.gets).To(BeNumerically("<=", 0.01*manyEchoes), "reads")
		Expect(now.refused-first.refused).To(BeZero(), "conflicts and other refusals")
		Expect(now.reconciles-first.reconciles).To(BeNumerically("<=", 1.1*manyEchoes), "reconciles")

		restarted := quiet(ctx, start())
		Expect(restarted.patches).To(BeZero(), "writes after a restart")
		Expect(restarted.total()).To(BeNumerically("<=", first.total()+1), "requests at a start with Echoes, and without")
		watches := otherWatches + len(desired.Kinds())
		limit := maxStartRequests + watches
		if minorVersion(server.Config) < 34 { // without streamed lists, each watch is rejected and followed by a list
			limit += 2 * watches
		}
		Expect(restarted.total()).To(BeNumerically("<=", limit))
	})

	It("is little in a reconcile that changes nothing", SpecTimeout(time.Minute), func(ctx SpecContext) {
		echo := support.Echo(newNamespace(ctx), "x")
		Expect(k8s.Create(ctx, echo)).To(Succeed())
		request, skipped := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(echo)}, false
		pass := func() {
			answer, err := underTest.Echoes.Reconcile(context.WithoutCancel(ctx), request)
			if err != nil {
				Fail(err.Error())
			}
			skipped = answer.RequeueAfter < time.Minute // the reconciler waits for the cache, not for the rollout
		}
		// AllocsPerRun also counts the allocations of other goroutines, which rarely disturb a short series of reconciles.
		Eventually(func(g Gomega) {
			g.Expect(testing.AllocsPerRun(3, pass)).To(BeNumerically("<=", maxAllocations))
			g.Expect(skipped).To(BeFalse())
		}).WithContext(ctx).WithPolling(time.Millisecond).Should(Succeed())
	})
})

// minorVersion returns the minor version of an API server.
func minorVersion(config *rest.Config) int {
	GinkgoHelper()
	server, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	minor, err := strconv.Atoi(server.Minor)
	Expect(err).NotTo(HaveOccurred())
	return minor
}

// requestCounts contains the numbers of a process's requests to the API server, and of its Echo reconciles.
type requestCounts struct{ gets, posts, patches, refused, reconciles float64 }

func (c requestCounts) total() float64 { return c.gets + c.posts + c.patches + c.refused }

// quiet waits until the counts have not changed for one second, and returns them.
func quiet(ctx context.Context, counts func() requestCounts) requestCounts {
	GinkgoHelper()
	last, since := requestCounts{}, time.Now()
	Eventually(func() bool {
		if now := counts(); now != last {
			last, since = now, time.Now()
		}
		return last.reconciles+last.gets > 0 && time.Since(since) > time.Second
	}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue())
	return last
}

// requestsOf reads the request counts from a process's metrics. All counts are zero until the process serves metrics.
func requestsOf(ctx context.Context, url, token string) requestCounts {
	var page string
	Eventually(func(g Gomega) {
		var status int
		status, page = responseOf(ctx, g, http.MethodGet, url, token)
		g.Expect(status).To(Equal(http.StatusOK))
	}).WithContext(ctx).Should(Succeed())
	counts := requestCounts{reconciles: support.SumOfMetric(page, `controller_runtime_reconcile_total`, `controller="echo"`)}
	for method, count := range map[string]*float64{"GET": &counts.gets, "POST": &counts.posts, "PATCH": &counts.patches} {
		*count = support.SumOfMetric(page, "rest_client_requests_total", `method="`+method+`"`, `code="2`)
	}
	counts.refused = support.SumOfMetric(page, "rest_client_requests_total") - counts.gets - counts.posts - counts.patches
	return counts
}
