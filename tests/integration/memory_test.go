package integration

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
)

const (
	// manyPods is the number of pods that together must add less than a mebibyte to the operator's memory.
	manyPods = 10_000
	mebibyte = 1 << 20
)

var _ = Describe("the memory of the program", SpecPriority(1), func() {
	It("grows by less than 1 MiB with 10,000 pods that do not request companions", SpecTimeout(specTimeout), func(ctx SpecContext) {
		server, admin := startCluster()
		allowMetrics(ctx, admin)
		token, address := tokenOf(ctx, Default, admin, "default", "scraper"), reserveAddress()
		environment := []string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig), "GOGC=1"} // so that almost no garbage is counted
		startProgram(environment, "--health-probe-bind-address=0", "--metrics-bind-address="+address)
		inUse := func() float64 {
			GinkgoHelper()
			return memoryInUse(ctx, "https://"+address+"/metrics", token)
		}

		node := newNode(ctx, admin)
		createCompanion(ctx, admin, node, "default") // so that one-time allocations are made before the measurement
		before := inUse()
		createPods(ctx, admin, node)
		createCompanion(ctx, admin, node, "kube-public") // when this companion exists, the operator has received all earlier events
		Expect(inUse()-before).To(BeNumerically("<", mebibyte), "bytes that %d pods add to %.0f", manyPods, before)
	})
})

// createCompanion creates an Echo and a pod in a namespace, and waits for the companion.
func createCompanion(ctx context.Context, c client.Client, node *corev1.Node, namespace string) {
	GinkgoHelper()
	Expect(c.Create(ctx, support.Echo(namespace, "x"))).To(Succeed())
	owner := createOwner(ctx, c, namespace, "accompanied", "x")
	bind(ctx, c, owner, node)
	eventuallyOne(ctx, c, owner)
}

// createPods creates pods of other applications, half of them on the given node.
func createPods(ctx context.Context, c client.Client, node *corev1.Node) {
	GinkgoHelper()
	creators := errgroup.Group{}
	creators.SetLimit(32)
	for i := range manyPods {
		creators.Go(func() error { return c.Create(ctx, otherPod(i, node)) })
	}
	Expect(creators.Wait()).To(Succeed())
}

func otherPod(number int, node *corev1.Node) *corev1.Pod {
	pod := &corev1.Pod{
		Namespace: []string{"default", "kube-public", "kube-system"}[number%3],
		Name:      fmt.Sprintf("other-%d", number),
		Labels: map[string]string{"app.kubernetes.io/name": "other", "app.kubernetes.io/instance": "x",
			"app.kubernetes.io/managed-by": "Helm"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "registry.example.com/other:1"}}},
	}
	if number%2 == 0 {
		pod.Spec.NodeName = node.Name
	}
	return pod
}

// memoryInUse reads a program's allocated memory until the minimum stops changing, and returns the minimum.
func memoryInUse(ctx context.Context, url, token string) float64 {
	GinkgoHelper()
	const enough = 20
	var least, resident float64
	for tries := 0; tries < enough; tries++ {
		Eventually(func(g Gomega) { // the program may not be serving metrics yet
			status, page := responseOf(ctx, g, http.MethodGet, url, token)
			g.Expect(status).To(Equal(http.StatusOK))
			allocated := support.SumOfMetric(page, "go_memstats_heap_alloc_bytes")
			g.Expect(allocated).NotTo(BeZero())
			if least == 0 || allocated < least {
				least, resident, tries = allocated, support.SumOfMetric(page, "process_resident_memory_bytes"), 0
			}
		}).WithContext(ctx).Should(Succeed())
	}
	GinkgoWriter.Printf("%.0f bytes in use, %.0f bytes resident\n", least, resident)
	return least
}
