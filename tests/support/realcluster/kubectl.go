package realcluster

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Kubectl runs kubectl and returns its standard output. If kubectl fails, the test fails.
func Kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return KubectlInput(ctx, "", arguments...)
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
