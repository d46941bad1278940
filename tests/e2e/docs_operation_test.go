package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// Each of these specs follows documentation pages for cluster administrators.
var _ = Describe("the documentation for operations", func() {
	It("has runbooks with working commands", func(ctx SpecContext) {
		reader := newReader(ctx)
		files := writeCertificate(ctx, reader.Namespace, "web")
		createChecked(ctx, reader.Namespace, "web", func(e *v1.Echo) { e.Spec.TLS = &v1.EchoTLS{SecretName: "echo-tls"} })
		reader.Replace = []string{"NAMESPACE:", "NAMESPACE:", "NAMESPACE", reader.Namespace, "NAME-CHECK", "web-path", "NAME", "web",
			"CHECK", "path", "SECRET", "echo-tls", "=tls.", "=" + files + "/tls.",
			"describe certificate ", "describe certificate || true ", // cert-manager is not installed
			"--previous", "--previous || true", "POD --", awaitLeader(ctx).Name + " --"} // no container of the pod has crashed
		printed := reader.Follow(ctx, slices.Concat(
			support.DocumentedPage("docs/runbooks/EchoCertificateExpiresSoon.md"),
			support.DocumentedPage("docs/runbooks/EchoCheckFailed.md"),
			support.DocumentedPage("docs/runbooks/EchoCompanionMissing.md"),
			support.DocumentedPage("docs/runbooks/EchoNotReady.md"),
			support.DocumentedPage("docs/runbooks/EchoOperatorDown.md"),
			support.DocumentedPage("docs/runbooks/EchoOperatorNoLeader.md"),
			support.DocumentedPage("docs/runbooks/EchoOperatorReconcileErrors.md")))
		Expect(printed[0]).To(And(HavePrefix("echo-tls\n"), ContainSubstring("notAfter=")))
	}, SpecTimeout(10*time.Minute))

	It("has commands for troubleshooting", func(ctx SpecContext) {
		reader := newReader(ctx, "NAME", "test-echo")
		createReady(ctx, support.Echo(reader.Namespace, "test-echo"))
		printed := reader.Follow(ctx, slices.Concat(
			step(support.Documented("docs/reference/troubleshooting.md", "# Troubleshooting by symptom")),
			step(support.Documented("docs/reference/troubleshooting.md", "#### Retry at once")),
			step(support.Documented("docs/reference/troubleshooting.md", "## The operator"))))
		Expect(printed[2]).To(ContainSubstring("/manager] {"))
	}, SpecTimeout(10*time.Minute))

	It("has commands for must-gather", func(ctx SpecContext) {
		reader := newReader(ctx)
		reader.Replace = []string{"team-a,team-b", reader.Namespace}
		before, err := filepath.Glob("../../must-gather-*")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			after, _ := filepath.Glob("../../must-gather-*")
			for _, folder := range after {
				if !slices.Contains(before, folder) {
					Expect(os.RemoveAll(folder)).To(Succeed())
				}
			}
		})
		printed := reader.Follow(ctx, step(support.Documented("docs/reference/must-gather.md", "any cluster")))
		Expect(printed).To(HaveEach(ContainSubstring("wrote must-gather-")))
	}, SpecTimeout(10*time.Minute))

	It("has commands for the operator's program", func(ctx SpecContext) {
		reader := newReader(ctx, ">echoes.yaml", ">"+filepath.Join(GinkgoT().TempDir(), "echoes.yaml"))
		createReady(ctx, support.Echo(reader.Namespace, "test-echo"))
		steps := support.DocumentedPage("docs/reference/commands.md")
		for i := range steps {
			steps[i].Output = "" // the documented output is from another cluster
		}
		printed := reader.Follow(ctx, steps)
		Expect(printed[0]).To(ContainSubstring("ADDED    " + reader.Namespace + "/test-echo  Ready 2/2 ready"))
		Expect(printed[2]).To(ContainSubstring("serverside-applied"))
	}, SpecTimeout(10*time.Minute))

	It("shows how to monitor and to limit Echoes", func(ctx SpecContext) {
		reader := newReader(ctx, "kubectl set env", "kubectl set env --dry-run=server") // do not restart the operator
		reader.Replace = append(reader.Replace, "-n team-a", "-n "+reader.Namespace)
		removeBinding := func(ctx context.Context) {
			realcluster.Kubectl(ctx, "delete", "clusterrolebinding", "prometheus-reads-echo-operator", "--ignore-not-found")
		}
		removeBinding(ctx)
		DeferCleanup(func(ctx SpecContext) { removeBinding(ctx) }, NodeTimeout(time.Minute))
		reader.Follow(ctx, slices.Concat(
			step(support.Documented("docs/how-to/monitor.md", "## With the Prometheus Operator")),
			step(support.Documented("docs/how-to/monitor.md", "## Traces")),
			step(support.Documented("docs/how-to/restricted-clusters.md", "## Limit what Echoes may use"))))
	}, SpecTimeout(10*time.Minute))
})
