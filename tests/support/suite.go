package support

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// RunClusterSpecs runs the specs of a suite that uses a cluster. Eventually takes at most the timeout, and polls at the interval.
// Without the make target, which sets IMAGES, the suite is skipped: `go test ./...` must not change the cluster of a kubeconfig.
func RunClusterSpecs(t *testing.T, suite, target string, timeout, interval time.Duration) {
	t.Helper()
	if os.Getenv("IMAGES") == "" {
		t.Skipf("the suite changes a cluster: run 'make %s', which starts one", target)
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(timeout)
	SetDefaultEventuallyPollingInterval(interval)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, suite)
}

// SkipWithoutAPIServer skips a test on a machine that has no API server to start.
func SkipWithoutAPIServer(t *testing.T) {
	t.Helper()
	folder := cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), "/usr/local/kubebuilder/bin")
	if _, err := os.Stat(filepath.Join(folder, "kube-apiserver")); err != nil {
		t.Skip("no API server: run 'make test', which builds one, or set KUBEBUILDER_ASSETS")
	}
}

// Connect returns a client of the cluster, and uses it for the namespaces.
func (n *Namespaces) Connect(requestTimeout time.Duration) client.WithWatch {
	GinkgoHelper()
	log.SetLogger(GinkgoLogr)
	k8s, err := NewClient(requestTimeout)
	Expect(err).NotTo(HaveOccurred())
	n.Client = k8s
	return k8s
}

// ShowAfterFailure prints the output of kubectl commands after a spec that failed, before its objects are deleted.
func ShowAfterFailure(commands ...string) bool {
	return JustAfterEach(Offset(1), func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			for _, command := range commands {
				Show(ctx, strings.Fields(command)...)
			}
		}
	}, NodeTimeout(time.Minute))
}
