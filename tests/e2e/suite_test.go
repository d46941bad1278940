// Package e2e tests the operator, deployed from its image, on a cluster with real containers. `make e2e` runs it.
package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

const (
	operatorNamespace  = "echo-operator-system"
	operatorDeployment = "echo-operator-controller-manager"
	operatorLease      = "echo-operator.example.com"
	// waitTimeout is how long kubectl waits. A busy machine takes minutes for what takes seconds on an idle one.
	waitTimeout = "--timeout=3m"
	// stuckTimeout is longer than the deletion of any Echo takes, also on a busy machine.
	stuckTimeout = 4 * time.Minute
)

// k8s reads from the API server, and watches objects.
var k8s client.WithWatch

var (
	// logErrors holds the logged errors of operators that the tests did not cause.
	logErrors []string
	// stuckEchoes holds the Echoes whose deletion did not complete.
	stuckEchoes []string
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "End to end")
}

var _ = BeforeSuite(func() {
	log.SetLogger(GinkgoLogr)
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1.AddToScheme(scheme)).To(Succeed())
	cluster, err := ctrl.GetConfig()
	Expect(err).NotTo(HaveOccurred(), "run the suite by 'make e2e', which starts a cluster")
	k8s, err = client.NewWithWatch(cluster, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
})

// Each spec starts with one running operator, whatever the previous spec did to it.
var _ = BeforeEach(func(ctx SpecContext) {
	scaleOperator(ctx, "1")
	awaitOperator(ctx)
}, NodeTimeout(5*time.Minute))

// The operator runs again before a spec cleans up, which deletes Echoes.
var _ = AfterEach(func(ctx SpecContext) { scaleOperator(ctx, "1") }, NodeTimeout(5*time.Minute))

// An error in the log may come from an earlier spec than the one that reads it, so the suite fails as a whole.
var _ = AfterSuite(func(ctx SpecContext) {
	scaleOperator(ctx, "1")
	removeNamespacesBut(ctx)
	noteLogErrors(ctx)
	Expect(stuckEchoes).To(BeEmpty(), "Echoes that did not go")
	Expect(logErrors).To(BeEmpty(), "errors in the operator's log")
}, NodeTimeout(10*time.Minute))

// The objects of a failed spec are printed before they are deleted.
var _ = JustAfterEach(func(ctx SpecContext) {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, arguments := range []string{
		"get echoes,deployments,replicasets,services,pods -A -o wide",
		"get events -A --sort-by=.lastTimestamp",
		"logs -n " + operatorNamespace + " deployment/" + operatorDeployment + " --tail=50",
	} {
		support.Show(ctx, strings.Fields(arguments)...)
	}
}, NodeTimeout(time.Minute))

// testNamespace is the label of the namespaces of tests.
const testNamespace = "echo-operator-test"

// newNamespace creates a namespace for one test, with Pod Security "restricted", and deletes it afterwards, in parallel with the next
// tests.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-", Labels: map[string]string{testNamespace: "true", "pod-security.kubernetes.io/enforce": "restricted"}}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, namespace))).To(Succeed()) }, NodeTimeout(2*time.Minute))
	return namespace.Name
}

// removeNamespacesBut deletes the namespaces of earlier tests, including those of earlier runs.
func removeNamespacesBut(ctx context.Context, kept ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		list := &corev1.NamespaceList{}
		g.Expect(k8s.List(ctx, list, client.HasLabels{testNamespace})).To(Succeed())
		names := []string{}
		for _, namespace := range list.Items {
			if !slices.Contains(kept, namespace.Name) {
				names = append(names, namespace.Name)
				g.Expect(client.IgnoreNotFound(k8s.Delete(ctx, &namespace))).To(Succeed())
				removeStuckEchoes(ctx, g, client.InNamespace(namespace.Name))
			}
		}
		g.Expect(names).To(BeEmpty())
	}).WithContext(ctx).WithTimeout(8 * time.Minute).Should(Succeed())
}

// removeStuckEchoes removes the finalizers of Echoes whose deletion takes too long, so that they do not affect other tests, and records
// them.
func removeStuckEchoes(ctx context.Context, g Gomega, which ...client.ListOption) {
	list := &v1.EchoList{}
	g.Expect(k8s.List(ctx, list, which...)).To(Succeed())
	for _, echo := range list.Items {
		if echo.DeletionTimestamp != nil && time.Since(echo.DeletionTimestamp.Time) > stuckTimeout {
			stuckEchoes = append(stuckEchoes, client.ObjectKeyFromObject(&echo).String())
			g.Expect(support.RemoveFinalizers(ctx, k8s, &echo)).To(Succeed())
		}
	}
}

// sample is the first sample, and its Echo.
const sample = "../../config/samples/v1_echo.yaml"

// applySample applies the sample, waits until its Echo is ready, and deletes it afterwards.
func applySample(ctx context.Context) {
	GinkgoHelper()
	removeSample(ctx)
	DeferCleanup(removeSample, NodeTimeout(5*time.Minute))
	support.Kubectl(ctx, "apply", "-f", sample)
	support.Kubectl(ctx, "wait", "--for=condition=Ready", "echo/test-echo", waitTimeout)
}

func removeSample(ctx context.Context) {
	GinkgoHelper()
	support.Kubectl(ctx, "delete", "-f", sample, "--ignore-not-found", "--wait=false")
	Eventually(func(g Gomega) {
		removeStuckEchoes(ctx, g, client.InNamespace("default"), client.MatchingFields{"metadata.name": "test-echo"})
		g.Expect(support.Kubectl(ctx, "get", "-f", sample, "--ignore-not-found", "-o", "name")).To(BeEmpty())
	}).WithContext(ctx).WithTimeout(stuckTimeout + 2*time.Minute).Should(Succeed())
}
