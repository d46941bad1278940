package realcluster

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// RunClusterSpecs runs the specs in a suite that uses a cluster. Gomega's Eventually waits for no longer than the timeout, and polls at the
// interval. The make target sets IMAGES. Without IMAGES, the suite is skipped, because `go test ./...` must not change the cluster that a
// kubeconfig selects.
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
