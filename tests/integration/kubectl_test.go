package integration

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("kubectl echo", func() {
	plugin := func() string { return filepath.Join(programs, "kubectl-echo") }

	// run runs a command, and returns its exit code and its output.
	run := func(arguments ...string) (code int, stdout, stderr string) {
		GinkgoHelper()
		command := exec.Command(plugin(), arguments...)
		command.Env = []string{"KUBECONFIG=" + writeKubeconfig(suiteKubeconfig), "HOME=" + GinkgoT().TempDir()}
		session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		Eventually(session).Should(gexec.Exit())
		return session.ExitCode(), string(session.Out.Contents()), string(session.Err.Contents())
	}
	// status runs kubectl echo status, and expects the given exit code.
	status := func(code int, arguments ...string) (stdout, stderr string) {
		GinkgoHelper()
		got, stdout, stderr := run(append([]string{"status"}, arguments...)...)
		Expect(got).To(Equal(code), stdout+stderr)
		return stdout, stderr
	}

	It("reports problems, and shows objects, nodes and warnings", func(ctx SpecContext) {
		node := newNode(ctx, k8s)
		echo := createOn(ctx, support.Echo(newNamespace(ctx), "web"), node)
		adopt(ctx, echo)
		stdout, stderr := status(0, "web", "-n", echo.Namespace)
		Expect(stderr).To(BeEmpty())
		Expect(stdout).To(HavePrefix("Echo " + echo.Namespace + "/web: Ready, 2/2 ready\n2 of 2 pods are ready.\n"))
		Expect(stdout).To(And(MatchRegexp(`(?m)^Ready +True +AllPodsReady +\S+$`), Not(ContainSubstring("PROBLEMS")),
			Not(MatchRegexp(`(?m)^\S+ +Echo/web +[A-Z]`)))) // Kubernetes can send warnings about other objects
		Expect(stdout).To(MatchRegexp(`(?m)^OBJECT +READY +STATUS +RESTARTS +NODE +AGE
Echo/web +2/2 +Ready +\S+
├─Deployment/web +2/2 +\S+
│ └─ReplicaSet/web-1 +0 +\S+
│   ├─Pod/web-1 +0/1 +Running +0 +` + node.Name + ` +\S+
│   └─Pod/web-2 +0/1 +Running +0 +` + node.Name + ` +\S+
├─PodDisruptionBudget/web +\S+
└─Service/web +\S+$`))

		cordon(ctx, node, true)
		expectNodeEvents(ctx, echo,
			`NodeProblem Node "`+node.Name+`", which runs 2 pods of this Echo, has a problem: The node is marked unschedulable.`)
		setPodStatus(ctx, &corev1.Pod{Namespace: echo.Namespace, Name: "web-1"}, corev1.PodStatus{Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}})
		deployment := deploymentNow(ctx, Default, echo.Namespace, echo.Name)
		Expect(support.SetDeploymentStatus(ctx, k8s, deployment, 1, "NewReplicaSetAvailable")).To(Succeed())
		expectPhase(ctx, echo, v1.PhaseWarning)
		stdout, stderr = status(1, "web", "-n", echo.Namespace)
		Expect(stderr).To(BeEmpty())
		Expect(stdout).To(And(HavePrefix("Echo "+echo.Namespace+"/web: Warning, 1/2 ready\n"), ContainSubstring("1 of 2 pods are ready.\n\n"),
			MatchRegexp(`(?m)^Ready +False `)))
		Expect(stdout).To(MatchRegexp(`(?m)^NODE +PROBLEMS\n` + node.Name + ` +Unschedulable$`))
		Expect(stdout).To(
			MatchRegexp(`(?m)^LAST SEEN +OBJECT +WARNING +MESSAGE\n(.*\n)*\S+ +Echo/web +NodeProblem +Node "` + node.Name + `", which runs`))
	})

	It("is found and completed by kubectl under its own name and the name that krew gives it", func(ctx SpecContext) {
		namespace, bin := newNamespace(ctx), GinkgoT().TempDir()
		for _, name := range []string{"api", "web"} {
			Expect(k8s.Create(ctx, support.Echo(namespace, name))).To(Succeed())
		}
		script, err := filepath.Abs("../../cmd/kubectl-echo/kubectl_complete-echo")
		Expect(err).NotTo(HaveOccurred())
		called := func(arguments ...string) string {
			command := kubectlCommand(ctx, arguments...)
			command.Env = append(command.Env, "PATH="+bin+":"+os.Getenv("KUBEBUILDER_ASSETS")+":"+os.Getenv("PATH"))
			output, err := command.Output()
			Expect(err).NotTo(HaveOccurred())
			return string(output)
		}
		for file, name := range map[string]string{"echo": "echo", "echo_operator": "echo-operator"} {
			Expect(os.Symlink(plugin(), filepath.Join(bin, "kubectl-"+file))).To(Succeed())
			Expect(os.Symlink(script, filepath.Join(bin, "kubectl_complete-"+file))).To(Succeed())
			Expect(called(name, "status", "--help")).To(ContainSubstring("\n  kubectl " + name + " status web\n"))
			for want, line := range map[string][]string{"api\nweb\n:4\n": {"status", "-n", namespace, ""},
				"web\n:4\n": {"test", "--namespace=" + namespace, "w"}, "json\n:4\n": {"status", "-o", ""}} {
				Expect(called(append([]string{"__complete", name}, line...)...)).To(Equal(want))
			}
		}
	})

	It("requires only the permission to read Echoes, and reports what it cannot show", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "web"))
		stdout, stderr := status(2, "web", "-n", echo.Namespace, "--as=guest")
		Expect(stdout).To(BeEmpty())
		Expect(stderr).To(HavePrefix(`error: echoes.example.com "web" is forbidden: User "guest" cannot get resource "echoes"`))

		Expect(controlplane.Grant(ctx, k8s, "guest", echo.Namespace,
			[]rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"echoes"}, Verbs: []string{"get", "list"}}})).To(Succeed())
		Eventually(func() int {
			code, _, _ := run("status", "web", "-n", echo.Namespace, "--as=guest")
			return code
		}).WithContext(ctx).Should(Equal(0))
		stdout, stderr = status(0, "web", "-n", echo.Namespace, "--as=guest")
		Expect(stdout).To(And(HavePrefix("Echo "+echo.Namespace+"/web: Ready, 2/2 ready\n"), MatchRegexp(`(?m)^Echo/web +2/2 +Ready +\S+$`),
			Not(ContainSubstring("Deployment"))))
		for _, resource := range []string{"deployments.apps", "replicasets.apps", "pods", "services", "poddisruptionbudgets.policy", "events"} {
			Expect(stderr).To(ContainSubstring("warning: not everything is shown: " + resource + ` is forbidden: User "guest" cannot list resource`))
		}
		stdout, stderr = status(0, "-n", echo.Namespace, "--as=guest")
		Expect(stdout).To(
			MatchRegexp(`^NAMESPACE +NAME +READY +PHASE +MESSAGE\n` + echo.Namespace + ` +web +2/2 +Ready +2 of 2 pods are ready\.\n$`))
		Expect(stderr).To(BeEmpty())
		_, stderr = status(2, "-A", "--as=guest")
		Expect(stderr).To(
			HavePrefix(
				`error: echoes.example.com is forbidden: User "guest" cannot list resource "echoes" in API group "example.com" at the cluster scope`))
	})

	It("needs only the role view, and prints no warning about kinds that the cluster does not serve", func(ctx SpecContext) {
		server, admin := startCluster()
		rules := manifest("rbac/echo_viewer_role.yaml", &rbacv1.ClusterRole{}).Rules
		view := &rbacv1.ClusterRole{}
		Eventually(func() error { return admin.Get(ctx, client.ObjectKey{Name: "system:aggregate-to-view"}, view) }).WithContext(ctx).Should(Succeed())
		Expect(controlplane.Grant(ctx, admin, "viewer", "default", append(rules, view.Rules...))).To(Succeed())
		Expect(admin.Create(ctx, support.Echo("default", "web"))).To(Succeed())
		Eventually(func() string {
			_, stdout, stderr := run("status", "web", "-n", "default", "--as=viewer", "--kubeconfig="+writeKubeconfig(server.KubeConfig))
			return stdout + stderr
		}).WithContext(ctx).Should(And(HavePrefix("Echo default/web: unknown, "), Not(ContainSubstring("warning:"))))
	})

	It("lists Echoes that are not Ready first, and reports if there are no Echoes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		createReadyEcho(ctx, support.Echo(namespace, "a"))
		createEcho(ctx, support.Echo(namespace, "z"))
		stdout, _ := status(1, "-n", namespace)
		Expect(stdout).To(MatchRegexp(`\n\S+ +z +0/2 +Pending .*\n\S+ +a +2/2 +Ready .*\n$`))
		_, stderr := status(0, "-n", newNamespace(ctx))
		Expect(stderr).To(Equal("No Echoes found\n"))
	})

	It("sends requests to the ready pods through the API server and the kubelet, if permitted", func(ctx SpecContext) {
		node := newNode(ctx, k8s)
		echo := createOn(ctx, support.Echo(newNamespace(ctx), "web"), node)
		createPod(ctx, echo, "web-3") // this pod is pending
		serveKubelet(ctx, node)
		code, stdout, stderr := run("test", "web", "-n", echo.Namespace, "--requests=4")
		Expect(stdout).To(
			MatchRegexp(`^(web-1  200 OK  \S+s\nweb-2  200 OK  \S+s\n){2}\nHTTP/1.1 200 OK\n` +
				`\{\n "pod": "web-1"\n\}\n\n4 requests, 0 failed; 2 of 2 ready pods responded\n$`))
		Expect(stderr).To(BeEmpty())
		Expect(code).To(Equal(0))

		Expect(controlplane.Grant(ctx, k8s, "tester", echo.Namespace, []rbacv1.PolicyRule{
			{APIGroups: []string{"example.com"}, Resources: []string{"echoes"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"services", "pods"}, Verbs: []string{"get", "list"}}})).To(Succeed())
		Eventually(func() string {
			_, stdout, _ := run("test", "web", "-n", echo.Namespace, "--requests=1", "--as=tester")
			return stdout
		}).WithContext(ctx).Should(
			MatchRegexp(`^web-1  error upgrading connection: .*pods "web-1" is forbidden: User "tester" cannot create resource "pods/portforward"`))
		Expect(controlplane.Grant(ctx, k8s, "tester", echo.Namespace, []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"}}})).To(Succeed())
		Eventually(func() int {
			code, _, _ := run("test", "web", "-n", echo.Namespace, "--requests=1", "--as=tester")
			return code
		}).WithContext(ctx).Should(Equal(0))
	})
})

// adopt creates an Echo's ReplicaSet, and makes it the owner of the Echo's pods.
func adopt(ctx SpecContext, echo *v1.Echo) {
	GinkgoHelper()
	deployment := deploymentNow(ctx, Default, echo.Namespace, echo.Name)
	set := &appsv1.ReplicaSet{
		Namespace: echo.Namespace, Name: echo.Name + "-1", Labels: deployment.Spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		Spec:            appsv1.ReplicaSetSpec{Replicas: deployment.Spec.Replicas, Selector: deployment.Spec.Selector, Template: deployment.Spec.Template},
	}
	Expect(k8s.Create(ctx, set)).To(Succeed())
	for _, suffix := range []string{"-1", "-2"} {
		edit(ctx, get(ctx, Default, echo.Namespace, echo.Name+suffix, &corev1.Pod{}), func(p *corev1.Pod) { p.OwnerReferences[0].UID = set.UID })
	}
}

// serveKubelet serves the part of a node's kubelet API that port-forwarding uses. The pods respond with their own names.
func serveKubelet(ctx SpecContext, node *corev1.Node) {
	GinkgoHelper()
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path) // the pod's name
		pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, `{"pod": %q}`, name) }))
		defer pod.Close()
		support.ForwardPort(w, r, pod.Listener.Addr().String())
	}))
	DeferCleanup(kubelet.Close)
	port := kubelet.Listener.Addr().(*net.TCPAddr).Port
	patchStatus(ctx, node, func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
		n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	})
}
