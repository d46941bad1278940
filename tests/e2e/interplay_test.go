package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// steady is how long the test checks that nothing writes to an Echo with an autoscaler.
const steady = 3 * time.Minute

var _ = Describe("an Echo that other clients also change", func() {
	It("is scaled by a HorizontalPodAutoscaler, without writes afterwards", Label("slow"), func(ctx SpecContext) {
		namespace := namespaces.New(ctx)
		serveMetrics(ctx, namespace)
		realcluster.Kubectl(ctx, "apply", "--validate=strict", "-n", namespace, "-f", "../../config/samples/v1_echo_autoscaled.yaml")
		echo := &v1.Echo{Namespace: namespace, Name: "echo-autoscaled"}
		support.EventuallyObject(ctx, k8s, echo).WithTimeout(6 * time.Minute).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(5))))
		waitReady(ctx, echo)
		autoscaler := &autoscalingv2.HorizontalPodAutoscaler{Namespace: namespace, Name: echo.Name}
		// Wait until the autoscaler counts all pods.
		support.EventuallyObject(ctx, k8s, autoscaler).Should(HaveField("Status.CurrentReplicas", BeEquivalentTo(5)))

		namespaces.RemoveAllBut(ctx, namespace)
		metrics := metricsReader(ctx, namespace)
		before, written := whatIsThere(ctx, Default, echo), writes(ctx, metrics)
		Consistently(func(g Gomega) []string { return whatIsThere(ctx, g, echo) }).
			WithContext(ctx).WithTimeout(steady).WithPolling(5 * time.Second).Should(Equal(before))
		Expect(writes(ctx, metrics)).To(Equal(written), "requests with which the operator changes objects")
	}, SpecTimeout(25*time.Minute))

	It("is deleted with its namespace", func(ctx SpecContext) {
		namespace := namespaces.New(ctx)
		for _, name := range []string{"one", "two", "three"} {
			echo := support.Echo(namespace, name, func(e *v1.Echo) { e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true)} })
			Expect(k8s.Create(ctx, echo)).To(Succeed())
		}
		waitReady(ctx, support.Echo(namespace, "one"))
		realcluster.Kubectl(ctx, "delete", "namespace", namespace, waitTimeout)
	}, SpecTimeout(10*time.Minute))

	It("is deleted without its pods with --cascade=orphan", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "parting")
		createReady(ctx, echo)
		realcluster.Kubectl(ctx, "delete", "echo", echo.Name, "-n", echo.Namespace, "--cascade=orphan", waitTimeout)
		Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(echo), &v1.Echo{}))).To(BeTrue())
		left := &appsv1.Deployment{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), left)).To(Succeed())
		Expect(left.OwnerReferences).To(BeEmpty())
		Expect(pods(ctx, Default, echo)).To(HaveLen(2))
	}, SpecTimeout(8*time.Minute))
})

// serveMetrics adds metrics.k8s.io to the cluster for the duration of the test. If the cluster already serves this API, it skips the test.
func serveMetrics(ctx context.Context, namespace string) {
	GinkgoHelper()
	const name = "v1beta1.metrics.k8s.io"
	realcluster.Kubectl(ctx, "delete", "apiservice", "-l", support.TestLabel) // remove what an interrupted run left behind
	if realcluster.Kubectl(ctx, "get", "apiservice", name, "--ignore-not-found") != "" {
		Skip("the cluster has its own metrics server, which would not report the values that the test sets")
	}
	// This cleanup must run before the namespace is deleted, because an unresponsive API blocks the deletion of namespaces.
	DeferCleanup(func(ctx SpecContext) { realcluster.Kubectl(ctx, "delete", "apiservice", "-l", support.TestLabel) },
		NodeTimeout(2*time.Minute))
	text := strings.NewReplacer("IMAGE", realcluster.Image("metrics-api"), "NAMESPACE", namespace).Replace(support.Read("tests/programs/metrics-api/manifest.yaml"))
	realcluster.KubectlInput(ctx, text, "apply", "-n", namespace, "-f", "-")
	realcluster.Kubectl(ctx, "wait", "--for=condition=Available", "apiservice/"+name, waitTimeout)
}

// whatIsThere returns the resource versions of an Echo, its objects, and its events.
func whatIsThere(ctx context.Context, g Gomega, echo *v1.Echo) []string {
	var versions []string
	for _, object := range []client.Object{&v1.Echo{}, &appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}} {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), object)).To(Succeed())
		versions = append(versions, object.GetResourceVersion())
	}
	for _, unwanted := range []client.Object{&networkingv1.Ingress{}, &networkingv1.NetworkPolicy{}} {
		g.Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(echo), unwanted))).To(BeTrue())
	}
	for _, event := range support.EventsOf(ctx, g, k8s, echo) {
		versions = append(versions, event.Reason+" "+event.ResourceVersion)
	}
	return versions
}

// metricsReader grants a service account the documented permission to read the operator's metrics until the test ends. It returns a
// function that reads the leader's metrics.
func metricsReader(ctx context.Context, namespace string) func(context.Context) string {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "create", "serviceaccount", "scraper", "-n", namespace)
	DeferCleanup(func(ctx SpecContext) {
		realcluster.Kubectl(ctx, "delete", "clusterrolebinding", namespace, "--ignore-not-found")
	}, NodeTimeout(2*time.Minute))
	realcluster.Kubectl(ctx, "create", "clusterrolebinding", namespace, "--clusterrole=echo-operator-metrics-reader",
		"--serviceaccount="+namespace+":scraper")
	token := strings.TrimSpace(realcluster.Kubectl(ctx, "create", "token", "scraper", "-n", namespace))
	return func(ctx context.Context) (page string) {
		GinkgoHelper()
		leader := awaitLeader(ctx)
		Eventually(func(g Gomega) { // the leader may not be ready yet, or the permission may not be in effect yet
			throughPortForward(ctx, g, operatorNamespace, "pod/"+leader.Name, "8443", func(address string) {
				page = fetch(ctx, g, "https://"+address+"/metrics", token)
			})
		}).WithContext(ctx).Should(Succeed())
		return page
	}
}

// writes returns the counts of the operator's PATCH and DELETE requests. PUT only renews the lease, and POST only authenticates a scrape.
func writes(ctx context.Context, metrics func(context.Context) string) []string {
	GinkgoHelper()
	var counts []string
	for line := range strings.Lines(metrics(ctx)) {
		if strings.HasPrefix(line, "rest_client_requests_total") && (strings.Contains(line, `method="PATCH"`) ||
			strings.Contains(line, `method="DELETE"`)) {
			counts = append(counts, strings.TrimSpace(line))
		}
	}
	Expect(counts).NotTo(BeEmpty())
	return counts
}
