// Package traefik tests Echoes behind a real gateway: Traefik, as the controller of Gateways and Ingresses on the test cluster, examined by
// pathcheck from pods. `make e2e-gateways` runs it.
package traefik

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/echo-operator/echo-operator/tests/support"
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
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Traefik")
}

var _ = BeforeSuite(func() {
	log.SetLogger(GinkgoLogr)
	var err error
	k8s, err = support.NewClient(0)
	Expect(err).NotTo(HaveOccurred(), "run the suite by 'make e2e-gateways', which starts a cluster")
	namespaces.Client = k8s
})

// What earlier runs left behind is deleted, too.
var _ = BeforeEach(OncePerOrdered, func(ctx SpecContext) { removeAll(ctx) }, NodeTimeout(10*time.Minute))
var _ = AfterSuite(func(ctx SpecContext) { removeAll(ctx) }, NodeTimeout(10*time.Minute))

var _ = JustAfterEach(func(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		support.Show(ctx, "get", "pods,echoes,ingresses,cronjobs,jobs", "-A", "-o", "wide")
		support.Show(ctx, "get", "gateways,httproutes,grpcroutes,backendtlspolicies,echoes", "-A", "-o", "yaml")
		support.Show(ctx, "logs", "-A", "-l", "app=traefik", "--tail=50")
		support.Show(ctx, "logs", "-n", operatorNamespace, operatorDeployment, "--tail=50")
	}
}, NodeTimeout(time.Minute))
