// Package monitoring tests the operator's metrics, alerts, and dashboard with a real Prometheus. On the test cluster, a real Prometheus
// Operator runs Prometheus. `make e2e-monitoring` runs the tests.
package monitoring

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	operatorNamespace  = "echo-operator-system"
	operatorDeployment = "deployment/echo-operator-controller-manager"
	waitTimeout        = "--timeout=5m"
	// alertTimeout is longer than any alert takes to fire or to resolve.
	alertTimeout = 30 * time.Minute
)

var (
	k8s        client.WithWatch
	namespaces = support.Namespaces{Prefix: "monitoring-"}
)

func TestMonitoring(t *testing.T) {
	realcluster.RunClusterSpecs(t, "Monitoring", "e2e-monitoring", 5*time.Minute, 2*time.Second)
}

var _ = BeforeSuite(func() { k8s = namespaces.Connect(0) })

var _ = AfterSuite(func(ctx SpecContext) {
	realcluster.Kubectl(ctx, "scale", "-n", operatorNamespace, operatorDeployment, "--replicas=2")
	realcluster.Kubectl(ctx, "rollout", "status", "-n", operatorNamespace, operatorDeployment, waitTimeout)
	namespaces.RemoveAllBut(ctx)
	for _, kind := range []string{"clusterrolebindings", "clusterroles", "validatingadmissionpolicies", "validatingadmissionpolicybindings",
		"customresourcedefinitions"} {
		realcluster.Kubectl(ctx, "delete", kind, "-l", support.TestLabel)
	}
}, NodeTimeout(10*time.Minute))

var _ = realcluster.ShowAfterFailure(
	"get pods,echoes,servicemonitors,podmonitors,prometheusrules -A -o wide",
	"logs -n "+operatorNamespace+" -l control-plane=controller-manager --prefix --tail=50",
)
