// Package crashes tests how the operator recovers from crashes on the test cluster with real containers. The tests crash the operator, the
// control plane, and the node. They also take away the operator's lease, permissions, and CustomResourceDefinition. Meanwhile, they create,
// change, and delete Echoes. `make reliability-crashes` runs the tests.
package crashes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	// requestTimeout limits how long a request may take while etcd does not respond.
	requestTimeout = 10 * time.Second
)

var (
	k8s        client.Client
	namespaces = support.Namespaces{Prefix: "crashes-"}
	// clusterProgram is the path of the program that runs the test cluster.
	clusterProgram string
	// figures contains the counts that are printed at the end.
	figures struct{ crashes, changes, requests int }
)

func TestCrashes(t *testing.T) {
	realcluster.RunClusterSpecs(t, "Crashes", "reliability-crashes", 3*time.Minute, 200*time.Millisecond)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	k8s = namespaces.Connect(requestTimeout)
	buildCluster(ctx)
	install(ctx)
}, NodeTimeout(5*time.Minute))

// Each spec starts with two new operator replicas and without objects from earlier specs.
var _ = BeforeEach(func(ctx SpecContext) {
	namespaces.RemoveAllBut(ctx)
	stopOperator(ctx)
	install(ctx)
	awaitLeader(ctx)
}, NodeTimeout(15*time.Minute))

// After a failed spec, processes that later specs need may not be running.
var _ = AfterEach(func(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		cluster(ctx, "revive", "etcd", "kube-apiserver")
		Eventually(func(g Gomega) {
			g.Expect(k8s.List(ctx, &corev1.NamespaceList{})).To(Succeed())
			supervise(ctx, g)
		}).WithContext(ctx).Should(Succeed())
		install(ctx)
	}
}, NodeTimeout(5*time.Minute))

var _ = AfterSuite(func(ctx SpecContext) {
	namespaces.RemoveAllBut(ctx)
	Expect(namespaces.Stuck).To(BeEmpty(), "Echoes that were not deleted")
}, NodeTimeout(15*time.Minute))

var _ = ReportAfterSuite("figures", func(report Report) {
	specs := report.SpecReports.WithLeafNodeType(types.NodeTypeIt)
	fmt.Printf("\n%d specs passed and %d failed, with %d crashes, %d changes to Echoes and %d successful requests, in %s\n",
		specs.CountWithState(types.SpecStatePassed), specs.CountWithState(types.SpecStateFailureStates), figures.crashes, figures.changes,
		figures.requests, report.RunTime.Round(time.Second))
})

// crash counts an action that disrupts the cluster, and adds a message to the output.
func crash(what string) {
	By(what)
	figures.crashes++
}

var _ = realcluster.ShowAfterFailure(
	"get echoes,deployments,replicasets,services,pods -A -o wide",
	"get echoes -A -o yaml",
	"get events -A --sort-by=.lastTimestamp",
	"logs -n "+operatorNamespace+" -l control-plane=controller-manager --prefix --tail=60",
	"logs -n "+operatorNamespace+" -l control-plane=controller-manager --prefix --tail=60 --previous",
)

// buildCluster builds the program that runs the test cluster.
func buildCluster(ctx context.Context) {
	GinkgoHelper()
	folder, err := os.MkdirTemp("", "echo-crashes-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, folder)
	clusterProgram = filepath.Join(folder, "cluster")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", clusterProgram, "./tests/cluster")
	command.Dir = support.Root()
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}

// cluster runs the program that controls the test cluster's processes.
func cluster(ctx context.Context, arguments ...string) {
	GinkgoHelper()
	runCluster(ctx, Default, arguments...)
}

func runCluster(ctx context.Context, g Gomega, arguments ...string) {
	command := exec.CommandContext(ctx, clusterProgram, arguments...)
	command.Dir = support.Root()
	output, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
}

// supervise restarts Kubernetes processes that exited because other processes crashed. In other clusters, the kubelet or the init system
// restarts these processes. The scheduler exits if it finds that its cache is wrong, and the kubelet exits if containerd is not ready yet.
func supervise(ctx context.Context, g Gomega) {
	runCluster(ctx, g, "revive", "kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns", "node")
}
