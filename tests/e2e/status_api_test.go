package e2e

import (
	"context"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the status API", func() {
	It("responds to the commands of docs/reference/status-api.md", Serial, func(ctx SpecContext) {
		const page = "docs/reference/status-api.md"
		applySample(ctx)
		removeViewer(ctx)
		DeferCleanup(removeViewer, NodeTimeout(2*time.Minute))

		rights, forward, found := strings.Cut(support.Documented(page, "## Requests"), "leader=")
		Expect(found).To(BeTrue())
		support.Run(ctx, rights)
		awaitMetricsServer(ctx, awaitLeader(ctx))
		address := forwardDocumented(ctx, "leader="+forward)
		eventuallyMay(ctx, "list", "echoes", "-n", "default")
		said := support.Run(ctx, askAt(address, support.Documented(page, "In another terminal")))

		Expect(strings.Count(said, `"name": "test-echo"`)).To(Equal(2), "in the list, and on its own")
		Expect(said).To(And(ContainSubstring(`"phase": "Ready"`), ContainSubstring(`"state": "Ready"`)))
		Expect(said).NotTo(ContainSubstring(`"error"`))
	}, SpecTimeout(10*time.Minute))
})

// removeViewer deletes the objects that the documented commands create.
func removeViewer(ctx context.Context) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "delete", "-n", "default", "--ignore-not-found", "serviceaccount/echo-viewer", "rolebinding/echo-viewer")
}

// forwardDocumented runs the documented kubectl port-forward command on a free local port until the test ends, and returns the address.
func forwardDocumented(ctx context.Context, commands string) string {
	GinkgoHelper()
	Expect(commands).To(And(ContainSubstring("\nkubectl port-forward "), HaveSuffix(" 8443\n")))
	command := exec.Command("bash", "-euc", strings.NewReplacer("\nkubectl", "\nexec kubectl", " 8443\n", " :8443\n").Replace(commands))
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Terminate().Wait() })
	return forwardedAddress(ctx, Default, session)
}

func askAt(address, commands string) string {
	GinkgoHelper()
	Expect(commands).To(ContainSubstring("//localhost:8443/"))
	return strings.ReplaceAll(commands, "//localhost:8443/", "//"+address+"/")
}

// eventuallyMay waits until a newly granted permission takes effect.
func eventuallyMay(ctx context.Context, right ...string) {
	GinkgoHelper()
	arguments := append([]string{"auth", "can-i", "--as=system:serviceaccount:default:echo-viewer"}, right...)
	Eventually(func() string {
		output, _ := realcluster.TryKubectl(ctx, arguments...) // kubectl exits with code 1 if the action is not allowed
		return output
	}).WithContext(ctx).Should(Equal("yes\n"))
}
