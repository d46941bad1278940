// Package traefik tests Echoes behind a real gateway: on the test cluster, Traefik is the controller of Gateways and Ingresses. Pods that
// run pathcheck examine Traefik. `make e2e-gateways` runs the tests.
package traefik

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
)

var (
	k8s        client.WithWatch
	namespaces = support.Namespaces{Prefix: "gateways-"}
)

func TestTraefik(t *testing.T) {
	realcluster.RunClusterSpecs(t, "Traefik", "e2e-gateways", 3*time.Minute, time.Second)
}

var _ = BeforeSuite(func() { k8s = namespaces.Connect(0) })

// The cleanup also deletes objects that earlier runs left behind.
var _ = BeforeEach(OncePerOrdered, func(ctx SpecContext) { removeAll(ctx) }, NodeTimeout(10*time.Minute))
var _ = AfterSuite(func(ctx SpecContext) { removeAll(ctx) }, NodeTimeout(10*time.Minute))

var _ = realcluster.ShowAfterFailure(
	"get pods,echoes,ingresses,cronjobs,jobs -A -o wide",
	"get gateways,httproutes,grpcroutes,backendtlspolicies,echoes -A -o yaml",
	"logs -A -l app=traefik --tail=50",
	"logs -n "+operatorNamespace+" -l control-plane=controller-manager --prefix --tail=50",
)
