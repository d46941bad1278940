package support

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Documented returns the first block of commands after a text in a page of the documentation.
func Documented(page, after string) string {
	GinkgoHelper()
	text, err := os.ReadFile(page)
	Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(text), after)
	Expect(found).To(BeTrue(), "%s has no %q", page, after)
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(rest)
	Expect(block).NotTo(BeNil())
	return block[1]
}

// Run runs commands in a shell, fails if one of them fails, and returns their output.
func Run(ctx context.Context, commands string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	GinkgoWriter.Println(string(output))
	return string(output)
}
