package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/fences"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// Each of these specs follows documentation pages, usually in a new namespace.
var _ = Describe("the documentation", func() {
	It("has a first tutorial that works", func(ctx SpecContext) {
		reader := newReader(ctx, slices.Concat(withoutDownloads(), []string{"kind ", ": kind "})...) // the suite has already created the cluster
		printed := reader.Follow(ctx, support.DocumentedPage("docs/tutorials/first-echo.md"))
		Expect(printed).To(ContainElement(ContainSubstring("X-Echo-Applied: status=503, delay=2s")))
	}, SpecTimeout(10*time.Minute))

	It("has a first response", Serial, func(ctx SpecContext) {
		removeSample(ctx)
		DeferCleanup(removeSample, NodeTimeout(5*time.Minute))
		reader := realcluster.Reader{Namespace: "default", Replace: withoutDownloads()}
		printed := reader.Follow(ctx, support.DocumentedSection("README.md", "## The first response"))
		Expect(printed).To(ContainElement(ContainSubstring(`"path": "/shop?color=blue"`)))
	}, SpecTimeout(10*time.Minute))

	It("shows how to send requests to an Echo", func(ctx SpecContext) {
		reader := newReader(ctx)
		createReady(ctx, support.Echo(reader.Namespace, "test-echo"))
		createReady(ctx, support.Echo(reader.Namespace, "echo"))
		forward := step(support.Documented("docs/how-to/expose.md", "## From your machine, temporarily"))
		reader.Follow(ctx, slices.Concat(forward, step("curl -sf localhost:8080/\n"),
			step(support.Documented("docs/how-to/expose.md", "## Use its URL"))))
		reader.Follow(ctx, step(support.Documented("docs/how-to/coming-from-another-echo-server.md", "In a cluster that runs the operator")))
		reader.Replace = []string{"https://grpc.example.com/", "http://localhost:8080/"}
		printed := reader.Follow(ctx, slices.Concat(step(support.Documented("docs/how-to/grpc.md", "## Call an Echo")),
			step(support.Documented("docs/how-to/grpc.md", "## See what the proxy does"))))
		Expect(printed[1]).To(ContainSubstring("grpc.unary=yes"))
	}, SpecTimeout(10*time.Minute))

	It("shows how to compare two paths", func(ctx SpecContext) {
		folder := GinkgoT().TempDir()
		reader := newReader(ctx, "https://old.example.com/", "http://localhost:8080/", "https://new.example.com/", "http://localhost:8080/",
			"old.yaml", folder+"/old.yaml", "new.yaml", folder+"/new.yaml")
		createReady(ctx, support.Echo(reader.Namespace, "test-echo"))
		reader.Follow(ctx, slices.Concat(step("kubectl port-forward service/test-echo 8080:80\n"),
			step(support.Documented("docs/how-to/coming-from-another-echo-server.md", "## ingress-nginx"))))
		Expect(os.ReadFile(filepath.Join(folder, "new.yaml"))).To(ContainSubstring("fact: "))
	}, SpecTimeout(10*time.Minute))

	It("shows how to make requests fail", func(ctx SpecContext) {
		reader := newReader(ctx, "\ncurl ", "\nkubectl exec client -- curl ", "curl -i 'http://test-echo.default.svc/?echo.status=503'",
			"kubectl exec client -- curl -i 'http://test-echo/?echo.status=503'", "http://test-echo.default.svc/", "http://test-echo/",
			"echo.delay=2s-5s'", "echo.delay=2s-5s' || [ $? = 28 ]", "curl 'http://test-echo.default.svc/?echo.connection=reset'",
			"kubectl exec client -- curl 'http://test-echo/?echo.connection=reset' || [ $? = 56 ]")
		createReady(ctx, support.Echo(reader.Namespace, "test-echo", func(e *v1.Echo) {
			e.Spec.Server.Controls = "Full"
		}))
		runClient(ctx, reader.Namespace)
		printed := reader.Follow(ctx, slices.Concat(step(support.Documented("docs/how-to/faults.md", "## Make one request fail")),
			step(support.Documented("docs/how-to/faults.md", "## Break connections with a request"))))
		Expect(printed[0]).To(ContainSubstring("HTTP/1.1 503 Service Unavailable"))
		reader.Replace = []string{"https://echo.example.com/", "http://localhost:8080/"}
		reader.Follow(ctx, slices.Concat(step("kubectl port-forward service/test-echo 8080:80\n"),
			step(support.Documented("docs/how-to/faults.md", "## See what a proxy makes of it"))))
	}, SpecTimeout(10*time.Minute))

	It("shows how to send HTTPS", func(ctx SpecContext) {
		reader := newReader(ctx)
		reader.Replace = []string{"--cacert ", "--cacert " + writeCertificate(ctx, reader.Namespace, "test-echo.default.svc") + "/"}
		createReady(ctx, support.Echo(reader.Namespace, "test-echo", func(e *v1.Echo) { e.Spec.TLS = &v1.EchoTLS{SecretName: "echo-tls"} }))
		printed := reader.Follow(ctx, step(support.Documented("docs/how-to/https.md", "## 2. Refer to the Secret in the Echo")))
		Expect(printed[0]).To(ContainSubstring(`"serverName": "test-echo.default.svc"`))
	}, SpecTimeout(10*time.Minute))

	It("shows how to read and pin the results of a check", func(ctx SpecContext) {
		reader := newReader(ctx)
		createChecked(ctx, reader.Namespace, "web")
		reader.Replace = []string{"NAME", "web", " -n shop ", " ", "https://shop.example.com/", "http://web/", "client,tls", "client",
			"[client, tls]", "[client]", "X-Forwarded-For", "..."}
		reader.Follow(ctx, slices.Concat(step(support.Documented("docs/reference/pathcheck.md", "The log of the last run contains the full report")),
			support.DocumentedSection("docs/reference/pathcheck.md", "### Pin today's behavior of a path")))
	}, SpecTimeout(10*time.Minute))

	It("shows how to use kubectl echo", func(ctx SpecContext) {
		reader := newReader(ctx, " -n shop", "", "web.shop.svc", "...", "https://shop.example.com/ --expect 'client.spoofable[X-Forwarded-For]=not found'",
			"http://localhost:8080/ --expect 'client.spoofable[X-Forwarded-For]=yes'")
		createReady(ctx, support.Echo(reader.Namespace, "web"))
		reader.Follow(ctx, support.DocumentedSection("docs/reference/kubectl-echo.md", "## test"))
		status := support.DocumentedSection("docs/reference/kubectl-echo.md", "## status")
		for i := range status {
			status[i].Output = "" // the documented output is for an Echo with a problem
		}
		printed := reader.Follow(ctx, slices.Concat(status, step("kubectl port-forward service/web 8080:80\n"),
			support.DocumentedSection("docs/reference/kubectl-echo.md", "## path")))
		Expect(printed[0]).To(ContainSubstring("├─Deployment/web"))
		Expect(printed[1]).To(Equal("2 of 2 pods are ready.\n"))
	}, SpecTimeout(10*time.Minute))
})

// newReader returns a reader with a new namespace that admits the documented pods.
func newReader(ctx context.Context, replace ...string) *realcluster.Reader {
	GinkgoHelper()
	r := &realcluster.Reader{Namespace: namespaces.New(ctx), Replace: replace}
	realcluster.Kubectl(ctx, "label", "namespace", r.Namespace, "pod-security.kubernetes.io/enforce=baseline", "--overwrite")
	return r
}

func step(commands string) []fences.Step { return []fences.Step{{Commands: commands}} }

// withoutDownloads returns replacements that use files from the source tree instead of a release. The operator is already running.
func withoutDownloads() []string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "install.yaml")
	script := "cd ../.. && tools/make/installer"
	for _, name := range []string{"echo-operator", "echo-server", "echo-operator-pathcheck"} {
		script += " " + realcluster.Image(name)
	}
	support.Run(GinkgoT().Context(), script+" >"+file)
	return []string{"https://github.com/echo-operator/echo-operator/releases/latest/download/install.yaml", file,
		"https://raw.githubusercontent.com/echo-operator/echo-operator/main/", ""}
}

// runClient starts the tutorials' client in a namespace. The client is a pod that contains curl.
func runClient(ctx context.Context, namespace string) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "run", "client", "-n", namespace, "--image=quay.io/curl/curl:8.14.1", "--command", "--", "sleep", "infinity")
	realcluster.Kubectl(ctx, "wait", "-n", namespace, "--for=condition=Ready", "pod/client", waitTimeout)
}

// writeCertificate creates the Secret echo-tls with a certificate for a host name, and returns a directory with the Secret's files.
func writeCertificate(ctx context.Context, namespace, host string) string {
	GinkgoHelper()
	secret := &corev1.Secret{Namespace: namespace, Name: "echo-tls"}
	realcluster.ApplyCertificate(ctx, k8s, client.ObjectKeyFromObject(secret), time.Hour, host)
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	folder := GinkgoT().TempDir()
	for name, content := range secret.Data {
		Expect(os.WriteFile(filepath.Join(folder, name), content, 0o600)).To(Succeed())
	}
	return folder
}

// createChecked creates an Echo that checks its own Service, and waits until the Echo is ready.
func createChecked(ctx context.Context, namespace, name string, changes ...func(*v1.Echo)) {
	GinkgoHelper()
	createReady(ctx, support.Echo(namespace, name, append(changes, func(e *v1.Echo) {
		e.Spec.Checks = []v1.EchoCheck{{Name: "path", Schedule: "0 0 1 1 *", URL: "http://" + name + "." + namespace + ".svc/"}}
	})...))
}

// Each of these specs follows documentation pages for cluster administrators.
var _ = Describe("the documentation for operations", func() {
	It("has runbooks with working commands", func(ctx SpecContext) {
		reader := newReader(ctx)
		files := writeCertificate(ctx, reader.Namespace, "web")
		createChecked(ctx, reader.Namespace, "web", func(e *v1.Echo) { e.Spec.TLS = &v1.EchoTLS{SecretName: "echo-tls"} })
		reader.Replace = []string{"NAMESPACE:", "NAMESPACE:", "NAMESPACE", reader.Namespace, "NAME", "web",
			"CHECK", "path", "SECRET", "echo-tls", "=tls.", "=" + files + "/tls.",
			"describe certificate ", "describe certificate || true ", // cert-manager is not installed
			"--previous", "--previous || true", "POD --", awaitLeader(ctx).Name + " --"} // no container of the pod has crashed
		printed := reader.Follow(ctx, slices.Concat(
			support.DocumentedPage("docs/runbooks/EchoCertificateExpiresSoon.md"),
			support.DocumentedPage("docs/runbooks/EchoCheckFailed.md"),
			support.DocumentedPage("docs/runbooks/EchoCheckUnknown.md"),
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
		before, _ := filepath.Glob("../../must-gather-*")
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
			step(support.Documented("docs/how-to/restricted-clusters.md", "## Limit what Echoes may use")),
			step(support.Documented("docs/how-to/restricted-clusters.md", "## Verify the nodes and images"))))
	}, SpecTimeout(10*time.Minute))
})
