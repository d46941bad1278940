// Package integration tests the operator with a real API server and etcd. No other controllers run, so the tests do the controllers' work.
package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	consolev1 "github.com/openshift/api/console/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// specTimeout ends a spec that hangs.
	specTimeout = 10 * time.Minute

	echoServerImage = controlplane.EchoServerImage
	maxReplicas     = controlplane.MaxReplicas
)

// configFolder is the directory that contains the manifests.
var configFolder = filepath.Join("..", "..", "config")

var (
	scheme *runtime.Scheme
	// cluster is the client configuration of the API server's administrator.
	cluster *rest.Config
	// suiteKubeconfig is an administrator's kubeconfig for programs.
	suiteKubeconfig []byte
	// k8s always reads from the API server, never from a cache.
	k8s client.Client
	// programs is the directory that contains the project's programs.
	programs string
	// underTest is the operator that the specs test.
	underTest *operator.Operator
)

func TestIntegration(t *testing.T) {
	support.SkipWithoutAPIServer(t)
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute) // longer than anything takes, even on a busy machine
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Integration")
}

// Each process has its own API server and operator. The first process builds the programs for all processes.
var _ = SynchronizedBeforeSuite(func() []byte { return []byte(buildPrograms()) }, func(folder []byte) {
	programs = string(folder)
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	klog.SetLogger(ctrl.Log)
	var err error
	scheme, err = support.Scheme()
	Expect(err).NotTo(HaveOccurred())
	for _, add := range []func(*runtime.Scheme) error{configv1.Install, consolev1.AddToScheme, gatewayv1.Install} {
		Expect(add(scheme)).To(Succeed())
	}
	DeferCleanup(reportUsedPermissions) // runs when this process's API server has stopped
	var server *envtest.Environment
	server, k8s = startCluster()
	cluster, suiteKubeconfig = server.Config, server.KubeConfig
	Expect(controlplane.GrantOperatorsRole(context.Background(), k8s, configFolder)).To(Succeed())
	startOperator()
})

// buildPrograms builds the programs that the specs run, and returns their directory. They are removed when all processes have finished.
func buildPrograms() string {
	GinkgoHelper()
	folder, err := os.MkdirTemp("", "integration-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, folder)
	command := exec.Command("go", "build", "-trimpath", "-o", folder, ".", "./cmd/echo-server", "./cmd/kubectl-echo", "./cmd/pathcheck")
	command.Dir = support.Root()
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return folder
}

// startCluster starts an API server that serves Echoes and other kinds. It returns the API server and an administrator's client.
func startCluster(crds ...string) (*envtest.Environment, client.Client) {
	GinkgoHelper()
	server := startAPIServer(append(crds, filepath.Join(configFolder, "crd", "bases"))...)
	return server, newClient(server.Config)
}

// newClient returns a client that knows the kinds that the suite uses.
func newClient(config *rest.Config) client.Client {
	GinkgoHelper()
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// startAPIServer starts an API server. The API server stops when the suite or the test ends.
func startAPIServer(crds ...string) *envtest.Environment {
	GinkgoHelper()
	env, err := controlplane.StartWith(audited, crds...)
	DeferCleanup(env.Stop)
	Expect(err).NotTo(HaveOccurred(), "run the suite with 'make test', which builds the API server")
	return env
}

// manifest reads an object from a file in the config directory.
func manifest[T client.Object](path string, object T) T {
	GinkgoHelper()
	object, err := controlplane.Manifest(filepath.Join(configFolder, path), object)
	Expect(err).NotTo(HaveOccurred())
	return object
}

// startOperator runs the operator inside the test process.
func startOperator() {
	var err error
	underTest, err = controlplane.NewOperator(cluster, "baseline")
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- underTest.Start(ctx) }()
	DeferCleanup(func() {
		stop()
		Eventually(stopped).Should(Receive(BeNil()))
	})
}

// newNamespace creates a namespace for a test. The test does not delete this namespace, because no controller could complete the deletion.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{GenerateName: "test-"}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}
