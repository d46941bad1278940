package support

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// RunClusterSpecs runs the specs of a suite that uses a cluster. Eventually takes at most the timeout, and polls at the interval.
func RunClusterSpecs(t *testing.T, suite string, timeout, interval time.Duration) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(timeout)
	SetDefaultEventuallyPollingInterval(interval)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, suite)
}

// Connect returns a client of the cluster, which a make target starts, and uses it for the namespaces.
func (n *Namespaces) Connect(target string, requestTimeout time.Duration) client.WithWatch {
	GinkgoHelper()
	log.SetLogger(GinkgoLogr)
	k8s, err := NewClient(requestTimeout)
	Expect(err).NotTo(HaveOccurred(), "run the suite by 'make "+target+"', which starts a cluster")
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
