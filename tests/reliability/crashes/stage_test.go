package crashes

import (
	"context"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// stage contains the objects that a crash can affect: Echoes that change, and a steady Echo that never changes and has a companion.
type stage struct {
	*churn
	steady *v1.Echo
	// pods contains the names of the steady Echo's pods, by UID.
	pods   map[types.UID]string
	prober *realcluster.Prober
}

// newStage creates the steady Echo, and starts the changes to the other Echoes.
func newStage(ctx context.Context) *stage {
	GinkgoHelper()
	s := &stage{steady: steady(namespaces.New(ctx))}
	s.createSteady(ctx)
	s.churn = startChurn(ctx, s.steady.Namespace)
	return s
}

// probe sends requests to the steady Echo until the spec ends. Each request must receive a response.
func (s *stage) probe(ctx context.Context) *stage {
	GinkgoHelper()
	prober := realcluster.StartProber(ctx, s.steady.Namespace, s.url(), "--count=1000000", "--interval=20ms", "--duration=1h")
	s.prober = &prober
	return s
}

// url returns the URL of the Service. The URL in the status is the URL of the Ingress.
func (s *stage) url() string {
	return "http://" + s.steady.Name + "." + s.steady.Namespace + ".svc/crashes"
}

func steady(namespace string) *v1.Echo {
	return support.Echo(namespace, "steady", func(e *v1.Echo) {
		e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "steady.example.com", Path: "/"}
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
	})
}

// createSteady creates the steady Echo and a pod that requests a companion, and waits until the Echo and all pods are ready.
func (s *stage) createSteady(ctx context.Context) {
	GinkgoHelper()
	s.steady = steady(s.steady.Namespace)
	Eventually(func(g Gomega) { // the API may have just been installed
		g.Expect(ignoreExisting(k8s.Create(ctx, s.steady))).To(Succeed())
		g.Expect(ignoreExisting(k8s.Create(ctx, realcluster.WebPod(s.steady.Namespace, "steady-web", s.steady.Name)))).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
	Eventually(func(g Gomega) {
		expectCalm(ctx, g, s.steady.Namespace)
		s.pods = s.steadyPods(ctx, g)
		g.Expect(s.pods).To(HaveLen(3))
	}).WithContext(ctx).Should(Succeed())
}

// steadyPods returns the pods of the steady Echo, including its companion.
func (s *stage) steadyPods(ctx context.Context, g Gomega) map[types.UID]string {
	list := &corev1.PodList{}
	g.Expect(k8s.List(ctx, list, client.InNamespace(s.steady.Namespace),
		client.MatchingLabels{"app.kubernetes.io/instance": s.steady.Name})).To(Succeed())
	found := map[types.UID]string{}
	for _, pod := range list.Items {
		found[pod.UID] = pod.Name
	}
	return found
}

// verify stops the changes, and then expects that the crash had no lasting effects.
func (s *stage) verify(ctx context.Context) {
	GinkgoHelper()
	s.settle(ctx)
	Eventually(func(g Gomega) {
		supervise(ctx, g)
		expectCalm(ctx, g, s.namespace)
	}).WithContext(ctx).WithPolling(time.Second).Should(Succeed())
	fresh := namespaces.New(ctx)
	repeat(ctx, s.namespace, fresh)
	Eventually(func(g Gomega) {
		supervise(ctx, g)
		expectCalm(ctx, g, fresh)
		g.Expect(cmp.Diff(picture(ctx, g, fresh), picture(ctx, g, s.namespace))).To(BeEmpty(), "difference from a run without a crash (-)")
	}).WithContext(ctx).WithPolling(time.Second).Should(Succeed())
	awaitLeader(ctx)
	expectQuiet(ctx, s.namespace, fresh)
	s.expectAnswers(ctx)
	expectNoPanic(ctx)
}

// expectAnswers expects that the steady Echo has responded to every request and still has the same pods. If no prober has run, it expects
// that the Echo responds now.
func (s *stage) expectAnswers(ctx context.Context) {
	GinkgoHelper()
	if s.prober == nil {
		seen := realcluster.StartProber(ctx, s.steady.Namespace, s.url(), "--count=200").Finish(ctx)
		Expect(seen.Failed).To(BeZero(), "of %d: %v", seen.Requests, seen.Errors)
		return
	}
	seen := s.prober.Stop(ctx)
	Expect(seen.Failed).To(BeZero(), "of %d: %v", seen.Requests, seen.Errors)
	Expect(seen.Requests).To(BeNumerically(">", 500))
	Expect(s.steadyPods(ctx, Default)).To(Equal(s.pods), "the pods of an unchanged Echo")
	figures.requests += seen.Requests
}

// repeat copies the Echoes, and the pods that request companions, from one namespace to another.
func repeat(ctx context.Context, from, to string) {
	GinkgoHelper()
	echoes, pods := &v1.EchoList{}, &corev1.PodList{}
	Expect(k8s.List(ctx, echoes, client.InNamespace(from))).To(Succeed())
	Expect(k8s.List(ctx, pods, client.InNamespace(from), client.MatchingLabels{"app": "web"})).To(Succeed())
	for _, echo := range echoes.Items {
		Expect(k8s.Create(ctx, &v1.Echo{Namespace: to, Name: echo.Name, Spec: echo.Spec})).To(Succeed())
	}
	for _, pod := range pods.Items {
		Expect(k8s.Create(ctx, realcluster.WebPod(to, pod.Name, pod.Labels[v1.CompanionLabel]))).To(Succeed())
	}
}

// expectCalm expects that all Echoes in a namespace and their pods and companions are ready, and that none of the pods is terminating.
func expectCalm(ctx context.Context, g Gomega, namespace string) {
	echoes, pods := &v1.EchoList{}, &corev1.PodList{}
	g.Expect(k8s.List(ctx, echoes, client.InNamespace(namespace))).To(Succeed())
	for _, echo := range echoes.Items {
		g.Expect(echo.DeletionTimestamp).To(BeNil(), echo.Name)
		g.Expect(echo.Status.ObservedGeneration).To(Equal(echo.Generation), echo.Name)
		g.Expect(echo.Status.Phase).To(Equal(v1.PhaseReady), "%s: %v", echo.Name, echo.Status.Conditions)
	}
	g.Expect(k8s.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
	pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Labels["app"] == "" && pod.Labels["app.kubernetes.io/name"] == ""
	})
	for _, pod := range pods.Items {
		g.Expect(pod.DeletionTimestamp).To(BeNil(), pod.Name)
		g.Expect(pod.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))),
			pod.Name)
	}
}
