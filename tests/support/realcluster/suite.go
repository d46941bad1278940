package realcluster

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// RunClusterSpecs runs the specs of a suite that uses a cluster. Eventually takes at most the timeout, and polls at the interval. Without
// the make target, which sets IMAGES, the suite is skipped: `go test ./...` must not change a kubeconfig's cluster.
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

// ShowAfterFailure prints the output of kubectl commands after a failed spec, before the spec's objects are deleted.
func ShowAfterFailure(commands ...string) bool {
	return JustAfterEach(Offset(1), func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			for _, command := range commands {
				Show(ctx, strings.Fields(command)...)
			}
		}
	}, NodeTimeout(time.Minute))
}
