// Package e2e tests the operator, which is deployed from its image, on a cluster with real containers. `make e2e` runs the tests.
package e2e

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	operatorNamespace  = "echo-operator-system"
	operatorDeployment = "echo-operator-controller-manager"
	operatorLease      = "echo-operator.example.com"
	operatorPods       = "control-plane=controller-manager"
	// operatorReplicas is the number of operator replicas in the manifests.
	operatorReplicas = "2"
	// waitTimeout is how long kubectl waits. Operations that take seconds on an idle machine can take minutes on a busy machine.
	waitTimeout = "--timeout=3m"
)

// k8s is a client that reads from the API server, and can also watch objects.
var k8s client.WithWatch

var (
	// logErrors contains the errors that the operator logged, except errors that the tests caused.
	logErrors  []string
	namespaces = support.Namespaces{Prefix: "e2e-"}
)

func TestE2E(t *testing.T) {
	realcluster.RunClusterSpecs(t, "End to end", "e2e", 3*time.Minute, 200*time.Millisecond)
}

var _ = BeforeSuite(func() { k8s = namespaces.Connect(0) })

// Several processes run the specs on one cluster. A spec is Serial if it ends replicas of the operator, cordons a node, or uses names that
// other specs also use. Serial specs run one after another when all others have finished.
//
// Each spec starts when all replicas of the operator are ready, regardless of what the previous spec did.
var _ = BeforeEach(func(ctx SpecContext) {
	scaleOperator(ctx, operatorReplicas)
	awaitLeader(ctx)
}, NodeTimeout(5*time.Minute))

// The operator must be running when a spec's cleanup deletes Echoes.
var _ = AfterEach(func(ctx SpecContext) { scaleOperator(ctx, operatorReplicas) }, NodeTimeout(5*time.Minute))

// A logged error fails the whole suite, because the spec that finds the error may not have caused it.
var _ = SynchronizedAfterSuite(func() {}, func(ctx SpecContext) {
	scaleOperator(ctx, operatorReplicas)
	namespaces.RemoveAllBut(ctx)
	noteLogErrors(ctx)
	Expect(namespaces.Stuck).To(BeEmpty(), "Echoes that were not deleted")
	Expect(logErrors).To(BeEmpty(), "errors in the operator's logs")
}, NodeTimeout(10*time.Minute))

var _ = realcluster.ShowAfterFailure(
	"get echoes,deployments,replicasets,services,pods -A -o wide",
	"get events -A --sort-by=.lastTimestamp",
	"logs -n "+operatorNamespace+" -l "+operatorPods+" --prefix --tail=50",
)

// sample is the path of the first sample, which contains an Echo.
const sample = "../../config/samples/v1_echo.yaml"

// applySample applies the sample, waits until its Echo is ready, and deletes the sample after the spec.
func applySample(ctx context.Context) {
	GinkgoHelper()
	removeSample(ctx)
	DeferCleanup(removeSample, NodeTimeout(5*time.Minute))
	realcluster.Kubectl(ctx, "apply", "-f", sample)
	realcluster.Kubectl(ctx, "wait", "--for=condition=Ready", "echo/test-echo", waitTimeout)
}

func removeSample(ctx context.Context) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "delete", "-f", sample, "--ignore-not-found", "--wait=false")
	Eventually(func(g Gomega) {
		namespaces.RemoveStuckEchoes(ctx, g, client.InNamespace("default"), client.MatchingFields{"metadata.name": "test-echo"})
		g.Expect(realcluster.Kubectl(ctx, "get", "-f", sample, "--ignore-not-found", "-o", "name")).To(BeEmpty())
	}).WithContext(ctx).WithTimeout(support.StuckTimeout + 2*time.Minute).Should(Succeed())
}
