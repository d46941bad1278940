package integration

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/loopback"
)

var _ = Describe("the program", Ordered, func() {
	It("prints instructions if the API server accepts connections but does not respond, and exits with code 1", func() {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(listener.Close)
		session := startProgram([]string{"KUBECONFIG=" + writeKubeconfig(kubeconfigFor("http://"+listener.Addr().String()))})
		Eventually(session).Should(gexec.Exit(1))
		Expect(oneLine(session)).To(ContainSubstring("does not respond"))
	})

	It("serves probes and protected metrics, watches only its namespaces, stops within 10 s, and logs no objects", func(ctx SpecContext) {
		server, c := startCluster()
		allowMetrics(ctx, c)
		probes, metrics := reserveAddress(), reserveAddress()
		session := startProgram([]string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig), "WATCH_NAMESPACE=default,kube-public"},
			"--leader-elect", "--leader-election-namespace=default", "--health-probe-bind-address="+probes, "--metrics-bind-address="+metrics,
			"--zap-log-level=7")
		Eventually(func(g Gomega) {
			g.Expect(statusOf(ctx, g, "http://"+probes+"/healthz", "")).To(Equal(http.StatusOK))
			g.Expect(statusOf(ctx, g, "http://"+probes+"/readyz", "")).To(Equal(http.StatusOK))
			g.Expect(statusOf(ctx, g, "https://"+metrics+"/metrics", "")).To(Equal(http.StatusUnauthorized))
			g.Expect(statusOf(ctx, g, "https://"+metrics+"/metrics", tokenOf(ctx, g, c, "kube-public", "scraper"))).To(Equal(http.StatusForbidden))
			g.Expect(statusOf(ctx, g, "https://"+metrics+"/metrics", tokenOf(ctx, g, c, "default", "scraper"))).To(Equal(http.StatusOK))
			g.Expect(leaseHolder(ctx, g, c, "default")).NotTo(BeEmpty())
		}).WithContext(ctx).Should(Succeed())

		inside, outside := support.Echo("kube-public", "inside"), support.Echo("kube-system", "outside")
		inside.Spec.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "canary-4711"}}
		Expect(c.Create(ctx, outside)).To(Succeed())
		Expect(c.Create(ctx, inside)).To(Succeed())
		Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(inside), &appsv1.Deployment{}) }).WithContext(ctx).Should(
			Succeed())
		Eventually(session.Err).Should(
			gbytes.Say(
				`"msg":"Created a Deployment with 2 echo servers.".*"Echo":{"name":"inside","namespace":"kube-public"}.*"reconcileID":"[0-9a-f-]{36}"`))
		Expect(apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(outside), &appsv1.Deployment{}))).To(BeTrue())

		session.Terminate()
		Eventually(session, 10*time.Second).Should(gexec.Exit(0))
		Expect(leaseHolder(ctx, Default, c, "default")).To(BeEmpty())
		Expect(session.Err.Contents()).NotTo(ContainSubstring("canary-4711"))
	})
})

// startProgram starts the operator with no environment variables except the given ones. The operator is killed at the end of the test.
func startProgram(environment []string, arguments ...string) *gexec.Session {
	GinkgoHelper()
	command := exec.Command(filepath.Join(programs, "echo-operator"), arguments...)
	command.Env = append([]string{"RELATED_IMAGE_ECHO_SERVER=" + echoServerImage}, environment...)
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	return session
}

// oneLine returns a session's output on standard error. The test fails unless this output is a single line.
func oneLine(session *gexec.Session) string {
	GinkgoHelper()
	text := strings.TrimSuffix(string(session.Err.Contents()), "\n")
	Expect(strings.Split(text, "\n")).To(HaveLen(1), text)
	return text
}

// reserveAddress returns an address for a program's endpoint. The program must start soon.
func reserveAddress() string {
	GinkgoHelper()
	address, err := loopback.ReserveAddress(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return address
}

func kubeconfigFor(server string) []byte {
	return fmt.Appendf(nil,
		`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c, user: ""}}], `+
			`current-context: c}`, server)
}

func writeKubeconfig(text []byte) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	return path
}

// kubectlCommand returns a command that runs kubectl as the administrator of the suite's API server.
func kubectlCommand(ctx context.Context, arguments ...string) *exec.Cmd {
	GinkgoHelper()
	command := exec.CommandContext(ctx, filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), arguments...)
	command.Env = []string{"KUBECONFIG=" + writeKubeconfig(suiteKubeconfig), "HOME=" + GinkgoT().TempDir(), "PATH=" + os.Getenv("PATH")}
	return command
}

// kubectl runs kubectl and returns its output. The test fails if kubectl fails.
func kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	output, err := kubectlCommand(ctx, arguments...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}

// leaseHolder returns the holder of an operator's lease, or "" if the lease has been released.
func leaseHolder(ctx context.Context, g Gomega, c client.Client, namespace string) string {
	lease := &coordinationv1.Lease{}
	g.Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "echo-operator.example.com"}, lease)).To(Succeed())
	g.Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
	return *lease.Spec.HolderIdentity
}
