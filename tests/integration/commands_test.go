package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// No operator is running, so only the tests change objects. At first, the API server does not serve the kind Echo.
var _ = Describe("the commands of the program", Ordered, func() {
	var server *envtest.Environment
	var admin string
	var c client.Client

	BeforeAll(func() {
		server = startAPIServer()
		admin, c = writeKubeconfig(server.KubeConfig), newClient(server.Config)
	})

	run := func(arguments ...string) *gexec.Session {
		GinkgoHelper()
		return startProgram([]string{"KUBECONFIG=" + admin}, arguments...)
	}

	DescribeTable("rejects invalid arguments after printing the usage, and exits with code 2",
		func(message, usage string, arguments ...string) {
			session := run(arguments...)
			Eventually(session).Should(gexec.Exit(2))
			Expect(session.Out.Contents()).To(BeEmpty())
			output := string(session.Err.Contents())
			Expect(output).To(And(HavePrefix("Usage:\n  manager"), ContainSubstring(usage)))
			Expect(output).To(ContainSubstring("\n\necho-operator: " + message))
		},
		Entry("an unknown command", `unknown command "up" for "manager"`, "--leader-elect", "up"),
		Entry("a flag of the operator", "unknown flag: --follow", "manager [command]", "--follow"),
		Entry("a flag of the operator before a command", "unknown flag: --leader-elect", "manager watch", "--leader-elect", "watch", "pods"),
		Entry("an argument of crd", `unknown command "x" for "manager crd"`, "manager crd", "crd", "x"),
		Entry("a flag of version", "unknown flag: --short", "manager version", "version", "--short"),
		Entry("a wrong kind", `watch requires one of pods, nodes, deployments, echoes, but got "secrets"`, "--selector", "watch", "secrets"),
		Entry("no kind", `watch requires one of pods, nodes, deployments, echoes, but got ""`, "--selector", "watch"),
		Entry("a flag of watch", "unknown flag: --follow", "--selector", "watch", "pods", "--follow"),
		Entry("an unknown format", `--output: "yaml" is not a known format`, "--selector", "watch", "pods", "-o", "yaml"),
		Entry("a namespace of nodes", `--namespace: "default" is not a valid namespace of nodes`, "--selector", "watch", "nodes", "-n", "default"),
	)

	DescribeTable("prints the usage, and exits with code 0",
		func(usage string, arguments ...string) {
			session := run(arguments...)
			Eventually(session).Should(gexec.Exit(0))
			Expect(session.Err.Contents()).To(BeEmpty())
			Expect(string(session.Out.Contents())).To(And(ContainSubstring("Usage:\n  manager"), ContainSubstring(usage)))
		},
		Entry("help", "--leader-elect", "help"),
		Entry("--help", "WATCH_NAMESPACE", "--help"),
		Entry("-h", "Print the CustomResourceDefinition of Echoes", "-h"),
		Entry("of watch", "--selector", "watch", "--help"),
		Entry("of watch, by help", "manager watch pods|nodes|deployments|echoes", "help", "watch"),
		Entry("of crd", "manager crd", "crd", "-h"),
	)

	It("prints its version", func() {
		session := run("version")
		Eventually(session).Should(gexec.Exit(0))
		Expect(string(session.Out.Contents())).To(MatchRegexp(`^echo-operator dev \(go1\.\S+ \w+/\w+\)\n$`))
	})

	It("prints one line if there is no cluster, and exits with code 1", func() {
		session := startProgram([]string{"KUBECONFIG=/nowhere"}, "watch", "pods")
		Eventually(session).Should(gexec.Exit(1))
		Expect(oneLine(session)).To(ContainSubstring("set KUBECONFIG"))
		session = startProgram([]string{"KUBECONFIG=" + writeKubeconfig(kubeconfigFor("http://"+reserveAddress()))}, "watch", "pods")
		Eventually(session).Should(gexec.Exit(1))
		Expect(oneLine(session)).To(ContainSubstring("does not respond"))
	})

	It("watches other kinds without the CRD for Echoes", func(ctx SpecContext) {
		nodes, pods := run("watch", "nodes"), run("watch", "pods", "-n", "kube-public")
		node := &corev1.Node{Name: "node-1"}
		Expect(c.Create(ctx, node)).To(Succeed())
		Eventually(nodes).Should(gbytes.Say(`ADDED    node-1  NotReady\n`))
		node.Spec.Unschedulable = true
		Expect(c.Update(ctx, node)).To(Succeed())
		Eventually(nodes).Should(gbytes.Say(`UPDATED  node-1  NotReady, unschedulable\n`))

		pod := &corev1.Pod{Namespace: "kube-public", Name: "web",
			Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		Expect(c.Create(ctx, pod)).To(Succeed())
		Eventually(pods).Should(gbytes.Say(`ADDED    kube-public/web  Pending on node-1\n`))
		Expect(c.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(pods).Should(gbytes.Say(`DELETED  kube-public/web  Pending on node-1\n`))
		Expect(nodes.Err.Contents()).To(BeEmpty())
		Expect(pods.Err.Contents()).To(BeEmpty())

		echoes := run("watch", "echoes")
		Eventually(echoes).Should(gexec.Exit(1))
		Expect(oneLine(echoes)).To(And(ContainSubstring("does not serve the kind Echo"), ContainSubstring("manager crd | kubectl apply")))
	})

	It("prints the CRD, which kubectl can apply", func(ctx SpecContext) {
		session := run("crd")
		Eventually(session).Should(gexec.Exit(0))
		file, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "example.com_echoes.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(session.Out.Contents())).To(Equal(string(file)))
		command := kubectlCommand(ctx, "apply", "--kubeconfig="+admin, "--server-side", "-f", "-")
		command.Stdin = bytes.NewReader(file)
		output, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
		Eventually(func() error { return c.List(ctx, &v1.EchoList{}) }).WithContext(ctx).Should(Succeed())
	})

	It("watches an Echo from creation to deletion, but does not print variables", func(ctx SpecContext) {
		session, asJSON := run("watch", "echoes"), run("watch", "-o", "json", "echoes")
		echo := support.Echo("default", "life", func(e *v1.Echo) { e.Spec.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "secret-1"}} })
		Expect(c.Create(ctx, echo)).To(Succeed())
		Eventually(session).Should(gbytes.Say(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)  ADDED    default/life  0/2 ready\n`))
		Eventually(asJSON).Should(gbytes.Say(`"type":"ADDED"`)) // both watches have started now

		echo.Status.Phase = v1.PhasePending
		Expect(c.Status().Update(ctx, echo)).To(Succeed())
		Eventually(session).Should(gbytes.Say(`UPDATED  default/life  Pending 0/2 ready\n`))
		echo.Status.Phase, echo.Status.ReadyReplicas = v1.PhaseReady, 2
		Expect(c.Status().Update(ctx, echo)).To(Succeed())
		Eventually(session).Should(gbytes.Say(`UPDATED  default/life  Ready 2/2 ready\n`))
		echo.Spec.Replicas, echo.Spec.Env[0].Value = new(int32(3)), "secret-2"
		Expect(c.Update(ctx, echo)).To(Succeed())
		Eventually(session).Should(gbytes.Say(`UPDATED  default/life  Ready 2/3 ready\n`))
		Expect(c.Delete(ctx, echo)).To(Succeed())
		Eventually(session).Should(gbytes.Say(`DELETED  default/life  Ready 2/3 ready\n`))
		Eventually(asJSON).Should(gbytes.Say(`"type":"DELETED"`))

		events := jsonLines(asJSON)
		Expect(events).To(HaveLen(5))
		scaled := events[3]
		Expect(scaled).To(And(HaveKeyWithValue("type", "UPDATED"), HaveKeyWithValue("kind", "Echo"), HaveKeyWithValue("namespace", "default"),
			HaveKeyWithValue("name", "life"), HaveKey("time")))
		Expect(scaled["object"]).To(HaveKeyWithValue("spec", HaveKeyWithValue("replicas", 3.0)))
		Expect(scaled["object"]).To(HaveKeyWithValue("metadata", Not(HaveKey("managedFields"))))
		for _, text := range []string{string(session.Out.Contents()), string(asJSON.Out.Contents())} {
			Expect(text).NotTo(Or(ContainSubstring("secret-"), ContainSubstring("PASSWORD")))
		}
		Expect(session.Err.Contents()).To(BeEmpty())
		session.Signal(syscall.SIGTERM)
		asJSON.Signal(syscall.SIGINT)
		Eventually(session).Should(gexec.Exit(0))
		Eventually(asJSON).Should(gexec.Exit(0))
	})

	It("watches only objects that match the label selector and the namespace", func(ctx SpecContext) {
		session := run("watch", "echoes", "-n", "default", "-l", "tier in (a)")
		labeled := func(tier string) func(*v1.Echo) {
			return func(e *v1.Echo) { e.Labels = map[string]string{"tier": tier} }
		}
		for _, echo := range []*v1.Echo{support.Echo("kube-public", "elsewhere", labeled("a")), support.Echo("default", "other", labeled("b")),
			support.Echo("default", "wanted", labeled("a"))} {
			Expect(c.Create(ctx, echo)).To(Succeed())
			DeferCleanup(c.Delete, echo)
		}
		Eventually(session).Should(gbytes.Say("ADDED    default/wanted"))
		Eventually(func() []string { return printedEvents(session) }).Should(Equal([]string{"ADDED default/wanted"}))
	})

	DescribeTable("continues to watch after an interruption, and prints only the changes in the meantime",
		func(ctx SpecContext, interrupt func(*proxy), message string) {
			DeferCleanup(func(ctx SpecContext) {
				Expect(c.DeleteAllOf(ctx, &v1.Echo{}, client.InNamespace("default"))).To(Succeed())
			}, NodeTimeout(specTimeout))
			names := func(name string) *v1.Echo { return support.Echo("default", name) }
			changed, deleted, unchanged := names("changed"), names("deleted"), names("unchanged")
			for _, echo := range []*v1.Echo{changed, deleted, unchanged} {
				Expect(c.Create(ctx, echo)).To(Succeed())
			}
			p := startProxy(server.Config.Host)
			session := startProgram([]string{"KUBECONFIG=" + writeKubeconfig(p.kubeconfig(server.KubeConfig))}, "watch", "echoes")
			Eventually(func() []string { return printedEvents(session) }).Should(
				ConsistOf("ADDED default/changed", "ADDED default/deleted", "ADDED default/unchanged"))

			interrupt(p)
			if message != "" {
				Eventually(session.Err).Should(gbytes.Say(`(?m)^ERROR    \S+  .*` + message))
			}
			changed.Spec.Replicas = new(int32(5))
			Expect(c.Update(ctx, changed)).To(Succeed())
			Expect(c.Delete(ctx, deleted)).To(Succeed())
			p.accept()
			Eventually(session.Out).Should(gbytes.Say(`UPDATED  default/changed  0/5 ready\n`))
			last := names("last")
			Expect(c.Create(ctx, last)).To(Succeed())
			Eventually(session.Out).Should(gbytes.Say("ADDED    default/last"))
			Eventually(func() []string { return printedEvents(session) }).Should(ConsistOf("ADDED default/changed", "ADDED default/deleted",
				"ADDED default/unchanged", "UPDATED default/changed", "DELETED default/deleted", "ADDED default/last"))
			for line := range strings.Lines(string(session.Err.Contents())) {
				Expect(line).To(HavePrefix("ERROR    "))
			}

			p.refuse() // the program must exit immediately, even if it is waiting to retry
			Eventually(session.Err).Should(gbytes.Say("refused"))
			session.Terminate()
			Eventually(session).Should(gexec.Exit(0))
		},
		Entry("in which connections are refused", (*proxy).refuse, "connection refused"),
		Entry("in which connections are closed, which client-go does not report", (*proxy).drop, ""),
		Entry("in which responses are invalid, so that the watch lists again", (*proxy).respondInvalid, "does not look like a TLS handshake"),
	)

	It("reports missing permissions, and continues when they are granted", func(ctx SpecContext) {
		user, err := server.AddUser(envtest.User{Name: "guest"}, nil)
		Expect(err).NotTo(HaveOccurred())
		text, err := user.KubeConfig()
		Expect(err).NotTo(HaveOccurred())
		environment := []string{"KUBECONFIG=" + writeKubeconfig(text)}
		session := startProgram(environment, "watch", "deployments", "-n", "default")
		asJSON := startProgram(environment, "watch", "deployments", "-n", "default", "-o", "json")
		for _, watch := range []*gexec.Session{session, asJSON} {
			Eventually(watch.Err).Should(
				gbytes.Say(`(?m)^ERROR    \S+  failed to list deployments: deployments.apps is forbidden: User "guest" cannot list`))
			Expect(watch.Out.Contents()).To(BeEmpty())
		}

		labels := map[string]string{"app": "web"}
		Expect(c.Create(ctx, &appsv1.Deployment{Namespace: "default", Name: "web", Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		}})).To(Succeed())
		Expect(controlplane.Grant(ctx, c, "guest", "default",
			[]rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list", "watch"}}})).To(Succeed())
		Eventually(session).Should(gbytes.Say(`ADDED    default/web  0/1 ready`))
		Eventually(asJSON).Should(gbytes.Say(`"kind":"Deployment","name":"web","namespace":"default","object":.*"type":"ADDED"`))
	})
})

// printedEvents returns the type and the name of each event that a watch has printed.
func printedEvents(session *gexec.Session) []string {
	var all []string
	for line := range strings.Lines(string(session.Out.Contents())) {
		if fields := strings.Fields(line); len(fields) > 2 {
			all = append(all, fields[1]+" "+fields[2])
		}
	}
	return all
}

func jsonLines(session *gexec.Session) []map[string]any {
	GinkgoHelper()
	var all []map[string]any
	for line := range strings.Lines(string(session.Out.Contents())) {
		var event map[string]any
		Expect(json.Unmarshal([]byte(line), &event)).To(Succeed(), line)
		all = append(all, event)
	}
	return all
}
