package support

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/fences"
)

// Documented returns the first block of commands after a string on a documentation page. Here and in the following functions, the page is a
// path relative to the project's root. `make verify` looks for calls to them to learn which documented commands the tests run.
func Documented(page, after string) string {
	GinkgoHelper()
	found := fences.After(Read(page), after)
	Expect(found).To(HaveLen(1), "%s has no commands after %q", page, after)
	return found[0].Text
}

// DocumentedSection returns the commands in a section, with the output that the page shows for them.
func DocumentedSection(page, heading string) []fences.Step {
	GinkgoHelper()
	return steps(fences.Section(Read(page), heading))
}

// DocumentedPage returns the commands on a page.
func DocumentedPage(page string) []fences.Step {
	GinkgoHelper()
	return steps(fences.Parse(Read(page)))
}

// Read reads a file, whose path is absolute or relative to the root of the project.
func Read(path string) string {
	GinkgoHelper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(Root(), path)
	}
	text, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func steps(found []fences.Fence) []fences.Step {
	GinkgoHelper()
	all := fences.Steps(found)
	Expect(all).NotTo(BeEmpty())
	return all
}

// Run runs commands in a shell, and returns their output. If a command fails, the test fails.
func Run(ctx context.Context, commands string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	GinkgoWriter.Println(string(output))
	return string(output)
}
