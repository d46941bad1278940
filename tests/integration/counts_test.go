package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

// These constants limit counts instead of times, because times depend on the machine. To measure times, run make benchmark.
const (
	manyEchoes = 100
	// writesOfOne is the number of writes for a new Echo with one replica: finalizer, Service, Deployment, and status, but no event.
	writesOfOne = 4
	// writesOfTwo is the number of writes for a new Echo with two replicas, which also has a PodDisruptionBudget.
	writesOfTwo = writesOfOne + 1
	// otherWatches is the number of watches for Echoes, nodes, pods, pods with the companion label, and CronJobs.
	otherWatches = 5
	// maxStartRequests limits the requests of a starting process, excluding watches: discovery and permission checks.
	maxStartRequests = 7
	// maxAllocations limits the number of allocations in a reconcile that changes nothing.
	maxAllocations = 3500
)

var _ = Describe("what an Echo costs", SpecPriority(1), func() {
	It("is one request for each write", SpecTimeout(specTimeout), func(ctx SpecContext) {
		server, admin := startCluster()
		allowMetrics(ctx, admin)
		one := startCounted(ctx, server, admin)
		Expect(admin.Create(ctx, support.Echo("default", "first"))).To(Succeed())
		eventuallyDeployed(ctx, admin, 1)
		first := one.countsAtRest(ctx, 1) // of the start and one Echo, which has one event
		reconciles := one.reconciles(ctx)
		for i := range manyEchoes {
			echo := support.Echo("default", fmt.Sprintf("echo-%d", i))
			echo.Spec.Replicas = new(int32(1 + i%2))
			Expect(admin.Create(ctx, echo)).To(Succeed())
		}
		eventuallyDeployed(ctx, admin, manyEchoes+1)
		now := one.countsAtRest(ctx, reconciles+manyEchoes)
		Expect(now.patches-first.patches).To(Equal((writesOfOne+writesOfTwo)*manyEchoes/2), "writes that succeeded")
		Expect(now.posts-first.posts).To(Equal(manyEchoes), "events")
		Expect(now.gets-first.gets).To(BeNumerically("<=", 0.01*manyEchoes), "reads")
		Expect(now.refused-first.refused).To(BeZero(), "conflicts and other refusals")
		maxReconciles := manyEchoes + now.patches - first.patches // one for each event
		Expect(one.reconciles(ctx)-reconciles).To(BeNumerically("<=", maxReconciles), "reconciles")

		restarted := startCounted(ctx, server, admin).countsAtRest(ctx, manyEchoes+1)
		Expect(restarted.patches).To(BeZero(), "writes after a restart")
		Expect(restarted.total()).To(BeNumerically("<=", first.total()-writesOfTwo), "requests at a start with Echoes, and without")
		watches := otherWatches + len(objects.Kinds(nil))
		limit := maxStartRequests + watches
		if minorVersion(server.Config) < 34 { // without streamed lists, each watch is rejected and followed by a list
			limit += 2 * watches
		}
		Expect(restarted.total()).To(BeNumerically("<=", limit))
	})

	It("is little in a reconcile that changes nothing", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo := support.Echo(newNamespace(ctx), "x")
		Expect(k8s.Create(ctx, echo)).To(Succeed())
		request, skipped := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(echo)}, false
		reconcile := func() {
			answer, err := underTest.Echoes.Reconcile(context.WithoutCancel(ctx), request)
			if err != nil {
				Fail(err.Error())
			}
			skipped = answer.RequeueAfter < time.Minute // a short delay means that the reconciler waits for the cache
		}
		// AllocsPerRun also counts the allocations of other goroutines, which rarely disturb a short series of reconciles.
		Eventually(func(g Gomega) {
			g.Expect(testing.AllocsPerRun(3, reconcile)).To(BeNumerically("<=", maxAllocations))
			g.Expect(skipped).To(BeFalse())
		}).WithContext(ctx).WithPolling(time.Millisecond).Should(Succeed())
	})
})

// countedProgram is a process whose requests to the API server are recorded.
type countedProgram struct {
	sent           *requestLog
	metrics, token string
}

// startCounted starts the operator on a cluster.
func startCounted(ctx context.Context, server *envtest.Environment, admin client.Client) *countedProgram {
	GinkgoHelper()
	address := reserveAddress()
	p := &countedProgram{sent: &requestLog{}, metrics: "https://" + address + "/metrics", token: tokenOf(ctx, Default, admin, "default", "scraper")}
	startProgram([]string{"KUBECONFIG=" + writeKubeconfig(kubeconfigFor(p.sent.proxy(server.Config)))}, "--health-probe-bind-address=0",
		"--metrics-bind-address="+address)
	return p
}

// eventuallyDeployed waits until the default namespace has at least the given number of events about Deployments.
func eventuallyDeployed(ctx context.Context, admin client.Client, count int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		events := &eventsv1.EventList{}
		g.Expect(admin.List(ctx, events, client.InNamespace("default"))).To(Succeed())
		found := slices.DeleteFunc(events.Items, func(e eventsv1.Event) bool { return e.Reason != "Deployed" })
		g.Expect(len(found)).To(BeNumerically(">=", count))
	}).WithContext(ctx).Should(Succeed())
}

// minorVersion returns the minor version of an API server.
func minorVersion(config *rest.Config) int {
	GinkgoHelper()
	server, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	minor, err := strconv.Atoi(server.Minor)
	Expect(err).NotTo(HaveOccurred())
	return minor
}

// requestCounts counts a process's requests to the API server. refused counts the requests whose response is an error.
type requestCounts struct{ gets, posts, patches, refused int }

func (c requestCounts) total() int { return c.gets + c.posts + c.patches + c.refused }

// counts counts the recorded requests.
func (l *requestLog) counts() requestCounts {
	counts := requestCounts{}
	for _, request := range l.data() {
		switch {
		case request.Status >= http.StatusBadRequest:
			counts.refused++
		case request.Method == http.MethodGet:
			counts.gets++
		case request.Method == http.MethodPost:
			counts.posts++
		default:
			counts.patches++
		}
	}
	return counts
}

// countsAtRest returns the counts of a process's requests after the given number of reconciles, followed by two seconds without a request.
func (p *countedProgram) countsAtRest(ctx context.Context, reconciles int) requestCounts {
	GinkgoHelper()
	Eventually(func() int { return p.reconciles(ctx) }).WithContext(ctx).Should(BeNumerically(">=", reconciles))
	last, since := requestCounts{}, time.Now()
	Eventually(func() bool {
		if now := p.sent.counts(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	}).WithContext(ctx).Should(BeTrue())
	return last
}

// reconciles waits until the process serves metrics, and returns the number of its Echo reconciles.
func (p *countedProgram) reconciles(ctx context.Context) int {
	GinkgoHelper()
	var page string
	Eventually(func(g Gomega) {
		var status int
		status, page = responseOf(ctx, g, p.metrics, p.token)
		g.Expect(status).To(Equal(http.StatusOK))
	}).WithContext(ctx).Should(Succeed())
	return int(support.SumOfMetric(page, `controller_runtime_reconcile_total`, `controller="echo"`))
}
