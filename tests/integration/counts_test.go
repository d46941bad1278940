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
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/tests/support"
)

// These constants limit counts instead of times, because times depend on the machine. To measure times, run make benchmark.
const (
	manyEchoes = 100
	// writesOfOne is the number of writes for a new Echo with one replica: the finalizer, the Service, the Deployment, and the status, but
	// not the event.
	writesOfOne = 4
	// writesOfTwo is the number of writes for a new Echo with two replicas, which also has a PodDisruptionBudget.
	writesOfTwo = writesOfOne + 1
	// otherWatches is the number of watches for Echoes, nodes, pods, pods with the companion label, and CronJobs.
	otherWatches = 5
	// maxStartRequests limits the requests of a starting process, excluding watches: discovery, permission checks, and two reviews of the
	// test's token.
	maxStartRequests = 9
	// maxDeletionRequests limits the requests for the deletion of an Echo with a Service, a Deployment, and a PodDisruptionBudget. Each of
	// these children is deleted and then read, and the pods are listed. The status, the finalizer, and an event are written.
	maxDeletionRequests = 10
	// maxAllocations limits the number of allocations in a reconcile that changes nothing.
	maxAllocations = 500
)

var _ = Describe("what an Echo costs", func() {
	It("is one reconcile with one request for each write", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		server, admin := startCluster()
		start := counted(ctx, server, admin)
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

	It("is ten requests for the deletion of a ready Echo", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		server, admin := startCluster()
		counts := counted(ctx, server, admin)()
		for i := range manyEchoes {
			Expect(admin.Create(ctx, support.Echo("default", fmt.Sprintf("echo-%d", i)))).To(Succeed())
		}
		deployments := &appsv1.DeploymentList{}
		Eventually(func(g Gomega) {
			g.Expect(admin.List(ctx, deployments)).To(Succeed())
			g.Expect(deployments.Items).To(HaveLen(manyEchoes))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		for i := range deployments.Items {
			Expect(support.RollOut(ctx, admin, &deployments.Items[i])).To(Succeed())
		}
		list := &v1.EchoList{}
		Eventually(func(g Gomega) {
			g.Expect(admin.List(ctx, list)).To(Succeed())
			g.Expect(list.Items).To(HaveEach(HaveField("Status.Phase", v1.PhaseReady)))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		before := quiet(ctx, counts)
		Expect(admin.DeleteAllOf(ctx, &v1.Echo{}, client.InNamespace("default"))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(admin.List(ctx, list)).To(Succeed())
			g.Expect(list.Items).To(HaveEach(HaveField("Status.Phase", v1.PhaseTerminating)))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		Eventually(func(g Gomega) {
			finishDeletions(ctx, g, admin)
			g.Expect(admin.List(ctx, list)).To(Succeed())
			g.Expect(list.Items).To(BeEmpty())
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		after := quiet(ctx, counts)
		Expect(after.total()-before.total()).To(BeNumerically("<=", 1.02*maxDeletionRequests*manyEchoes), "requests, and reviews of the token")
	})

	It("is little in a reconcile that changes nothing", SpecTimeout(time.Minute), func(ctx SpecContext) {
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

// counted returns a function that starts the operator on a cluster. That function returns another one, which reads the operator's request
// counts.
func counted(ctx context.Context, server *envtest.Environment, admin client.Client) func() func() requestCounts {
	GinkgoHelper()
	allowMetrics(ctx, admin)
	environment := []string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig)}
	token := tokenOf(ctx, Default, admin, "default", "scraper")
	return func() func() requestCounts {
		address := freeAddress()
		startProgram(environment, "--health-probe-bind-address=0", "--metrics-bind-address="+address)
		return func() requestCounts { return requestsOf(ctx, "https://"+address+"/metrics", token) }
	}
}

// finishDeletions removes the finalizers of deleted children, as the garbage collector does when their dependents are gone. Deployments are
// last, because they have pods.
func finishDeletions(ctx context.Context, g Gomega, admin client.Client) {
	for _, kind := range []client.ObjectList{&corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}, &appsv1.DeploymentList{}} {
		g.Expect(admin.List(ctx, kind, client.InNamespace("default"))).To(Succeed())
		g.Expect(meta.EachListItem(kind, func(item runtime.Object) error {
			child := item.(client.Object)
			if child.GetDeletionTimestamp() == nil {
				return nil
			}
			child.SetFinalizers(nil)
			return client.IgnoreNotFound(admin.Update(ctx, child))
		})).To(Succeed())
	}
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

// requestCounts counts a process's requests to the API server, and its Echo reconciles.
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

// requestsOf waits until a process serves metrics, and reads the request counts from these metrics.
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
