// Package e2e tests the operator, deployed from its image, on a cluster with real containers. `make e2e` runs it.
package e2e

import (
	"context"
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
)

const (
	operatorNamespace  = "echo-operator-system"
	operatorDeployment = "echo-operator-controller-manager"
	operatorLease      = "echo-operator.example.com"
)

// k8s reads from the API server, and watches it.
var k8s client.WithWatch

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(90 * time.Second)
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

var _ = AfterSuite(func(ctx SpecContext) {
	awaitOnly(ctx)
	expectNoErrorInLog(ctx)
}, NodeTimeout(2*time.Minute))

var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() {
		dump(report.LeafNodeText)
	}
})

// dump shows what there is, for the reader of a failure.
func dump(title string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	GinkgoWriter.Println("after:", title)
	for _, arguments := range []string{
		"get echoes,deployments,replicasets,services,pods -A -o wide",
		"get events -A --sort-by=.lastTimestamp",
		"logs -n " + operatorNamespace + " deployment/" + operatorDeployment + " --tail=50",
	} {
		output, err := kubectlCommand(ctx, strings.Fields(arguments)...).CombinedOutput()
		GinkgoWriter.Println(string(output), err)
	}
}

// testNamespace is the label of the namespaces that the tests make.
const testNamespace = "echo-operator-test"

// newNamespace makes a namespace for one test, under the strictest Pod Security, and has it deleted afterwards, which goes on
// beside the next tests.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-", Labels: map[string]string{testNamespace: "true", "pod-security.kubernetes.io/enforce": "restricted"}}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, namespace))).To(Succeed()) }, NodeTimeout(time.Minute))
	return namespace.Name
}

// awaitOnly waits until the namespaces of earlier tests are gone, and only these are left.
func awaitOnly(ctx context.Context, left ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		list := &corev1.NamespaceList{}
		g.Expect(k8s.List(ctx, list, client.HasLabels{testNamespace})).To(Succeed())
		names := []string{}
		for _, namespace := range list.Items {
			names = append(names, namespace.Name)
		}
		g.Expect(names).To(ConsistOf(left))
	}).WithContext(ctx).Should(Succeed())
}
