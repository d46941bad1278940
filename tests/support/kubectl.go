package support

import (
	"bytes"
	"context"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Kubectl runs a command of kubectl that must succeed, and returns what it prints to its standard output.
func Kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return KubectlInput(ctx, "", arguments...)
}

// Show writes what a command of kubectl prints, or why it fails, to the report of a failed test.
func Show(ctx context.Context, arguments ...string) {
	output, err := exec.CommandContext(ctx, "kubectl", arguments...).CombinedOutput()
	GinkgoWriter.Println("$ kubectl "+strings.Join(arguments, " ")+"\n"+string(output), err)
}

// KubectlInput is Kubectl with something to read from its standard input.
func KubectlInput(ctx context.Context, stdin string, arguments ...string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "kubectl", arguments...)
	command.Stdin = strings.NewReader(stdin)
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "kubectl %s: %s%s", strings.Join(arguments, " "), output, errors.String())
	return string(output)
}
