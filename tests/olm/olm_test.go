// Package olm tests that the operator is installed, set up and taken away by a real OLM, by the words of docs/install.md.
// `make e2e-olm` runs it.
package olm

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestOLM(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(90 * time.Second)
	SetDefaultEventuallyPollingInterval(500 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "OLM")
}

var _ = Describe("the operator in OLM", Ordered, func() {
	It("is installed from a catalog by a Subscription", func(ctx SpecContext) {
		run(ctx, documented("## With OLM, from a catalog"))
		Expect(kubectl(ctx, "get", "csv", "-n", "echo-operator-system", "-o", "name")).To(ContainSubstring("echo-operator.v0.1.0"))
		Eventually(kubectl).WithContext(ctx).WithArguments("get", "packagemanifests").Should(ContainSubstring("Echo Operator"))
	}, SpecTimeout(5*time.Minute))

	It("runs an Echo that answers", func(ctx SpecContext) {
		kubectl(ctx, "apply", "-f", "../../config/samples/v1_echo.yaml")
		kubectl(ctx, "wait", "--for=condition=Ready", "echo/test-echo", "--timeout=1m")
		pod := strings.TrimSpace(input(ctx, prober(), "create", "-o", "name", "-f", "-"))
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "delete", pod) }, NodeTimeout(time.Minute))
		kubectl(ctx, "wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=1m", pod)
		Expect(kubectl(ctx, "logs", pod)).To(ContainSubstring(`"failed":0`))
	}, SpecTimeout(3*time.Minute))

	It("takes its settings from the Subscription", func(ctx SpecContext) {
		run(ctx, documented("Settings go into the Subscription"))
		Eventually(kubectl).WithContext(ctx).WithArguments("get", "deployment", "-n", "echo-operator-system", "-o", "yaml").
			Should(MatchRegexp(`name: MAX_REPLICAS\s+value: "3"`))
		kubectl(ctx, "rollout", "status", "-n", "echo-operator-system", "deployment/echo-operator-controller-manager", "--timeout=1m")
		kubectl(ctx, "scale", "echo/test-echo", "--replicas=5")
		kubectl(ctx, "wait", "--for=jsonpath={.status.phase}=Failed", "echo/test-echo", "--timeout=1m")
		Expect(kubectl(ctx, "get", "echo/test-echo", "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].message}")).To(ContainSubstring("greater than 3"))
	}, SpecTimeout(3*time.Minute))

	It("goes without leaving anything", func(ctx SpecContext) {
		run(ctx, documented("## Uninstalling, with OLM"))
		Eventually(func(ctx context.Context) string {
			return kubectl(ctx, "get", "crd,clusterrole,clusterrolebinding,namespace,operators.operators.coreos.com,catalogsource,pod", "-A", "-o", "name")
		}).WithContext(ctx).ShouldNot(ContainSubstring("echo"))
	}, SpecTimeout(5*time.Minute))
})

// documented is the first block of commands after a text in docs/install.md.
func documented(after string) string {
	GinkgoHelper()
	text, err := os.ReadFile("../../docs/install.md")
	Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(text), after)
	Expect(found).To(BeTrue(), "docs/install.md has no %q", after)
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(rest)
	Expect(block).NotTo(BeNil())
	return block[1]
}

// run runs commands as somebody would who pastes them, and stops at the first that fails.
func run(ctx context.Context, commands string) {
	GinkgoHelper()
	output, err := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	GinkgoWriter.Println(string(output))
}

func kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	return input(ctx, "", arguments...)
}

// input runs kubectl with something to read, and returns what it says.
func input(ctx context.Context, stdin string, arguments ...string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "kubectl", arguments...)
	command.Stdin = strings.NewReader(stdin)
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "kubectl %s: %s%s", strings.Join(arguments, " "), output, errors.String())
	return string(output)
}

// prober is the pod that sends requests to the sample.
func prober() string {
	GinkgoHelper()
	pod, err := os.ReadFile("../prober/pod.yaml")
	Expect(err).NotTo(HaveOccurred())
	image, err := os.ReadFile(os.Getenv("IMAGES") + "/prober")
	Expect(err).NotTo(HaveOccurred(), "run the suite by 'make e2e-olm', which builds the images")
	return strings.Replace(string(pod), "image: quay.io/echo-operator/prober", "image: "+strings.TrimSpace(string(image)), 1)
}
