package realcluster

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// RunClusterSpecs runs the specs of a suite that uses a cluster. Eventually waits at most for the timeout, and polls at the interval. The
// make target sets IMAGES. Without it, the suite is skipped: `go test ./...` must not change the cluster in a kubeconfig.
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

// ShowAfterFailure prints the output of kubectl commands after a failed spec, before the cleanup deletes the spec's objects.
func ShowAfterFailure(commands ...string) bool {
	return JustAfterEach(Offset(1), func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			for _, command := range commands {
				Show(ctx, strings.Fields(command)...)
			}
		}
	}, NodeTimeout(time.Minute))
}
