// Package realcluster controls the programs that suites use on a cluster with nodes: kubectl, probers, Prometheus, and hollow nodes.
package realcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// RunClusterSpecs runs a suite's specs in a cluster. Gomega's Eventually waits no longer than the timeout, and polls at the interval. The
// make target sets IMAGES. Without it, the suite is skipped, because `go test ./...` must not change the cluster that a kubeconfig selects.
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

// Kubectl runs kubectl and returns its standard output. If kubectl fails, the test fails.
func Kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return KubectlInput(ctx, "", arguments...)
}

// WaitForCRDs waits until the API server serves the CustomResourceDefinitions that the arguments of kubectl wait select. The conditions of a
// new CustomResourceDefinition are null, which a wait for a condition reports as an error.
func WaitForCRDs(ctx context.Context, arguments ...string) {
	GinkgoHelper()
	for _, state := range []string{"jsonpath={.status.conditions[0].type}", "condition=Established"} {
		Kubectl(ctx, append([]string{"wait", "--for", state}, arguments...)...)
	}
}

// TryKubectl runs kubectl, and returns its standard output. If kubectl fails, the returned error contains kubectl's standard error.
// Gomega's Eventually can retry TryKubectl.
func TryKubectl(ctx context.Context, arguments ...string) (string, error) {
	return tryInput(ctx, "", arguments...)
}

// Show runs kubectl. If the test fails, its report contains the output and any error.
func Show(ctx context.Context, arguments ...string) {
	output, err := exec.CommandContext(ctx, "kubectl", arguments...).CombinedOutput()
	GinkgoWriter.Println("$ kubectl "+strings.Join(arguments, " ")+"\n"+string(output), err)
}

// KubectlInput is like Kubectl, but passes the given text to kubectl as standard input.
func KubectlInput(ctx context.Context, stdin string, arguments ...string) string {
	GinkgoHelper()
	output, err := tryInput(ctx, stdin, arguments...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

func tryInput(ctx context.Context, stdin string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", arguments...)
	command.Stdin = strings.NewReader(stdin)
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	if err != nil {
		return string(output), fmt.Errorf("kubectl %s: %w: %s%s", strings.Join(arguments, " "), err, output, errors.String())
	}
	return string(output), nil
}
