package integration

import (
	"context"
	"encoding/base64"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// gatherCanary is part of every value that must-gather must not write.
const gatherCanary = "canary-0815-never-written"

var _ = Describe("must-gather", Ordered, func() {
	var namespace, home string

	BeforeAll(func(ctx SpecContext) {
		namespace, home = newNamespace(ctx), newNamespace(ctx)
		createWithCanary(ctx, namespace)
		createOperatorObjects(ctx, home)
	}, NodeTimeout(specTimeout))

	run := func(kubeconfig []byte, arguments ...string) (folder, output string) {
		GinkgoHelper()
		folder = filepath.Join(GinkgoT().TempDir(), "out")
		command := exec.Command(filepath.Join(programs, "must-gather"), append(arguments, "--dest-dir="+folder)...)
		command.Env = []string{"KUBECONFIG=" + writeKubeconfig(kubeconfig)}
		session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { session.Kill().Wait() })
		Eventually(session).Should(gexec.Exit(0))
		return folder, string(session.Out.Contents())
	}

	It("writes the necessary data, and no secrets", func(ctx SpecContext) {
		By("checking that the objects contain the canary")
		for _, object := range []string{"echo/web", "deployment/web", "pod/web-7c9f-x2x4k", "configmap/web", "events.events.k8s.io/web"} {
			Expect(kubectl(ctx, "get", "-n", namespace, object, "-o", "yaml")).To(ContainSubstring(gatherCanary), object)
		}
		Expect(kubectl(ctx, "get", "-n", home, "deployment/operator", "-o", "yaml")).To(ContainSubstring(gatherCanary))

		folder, output := run(suiteKubeconfig)
		files := support.FilesBelow(folder)
		for path, text := range files {
			Expect(text).NotTo(Or(ContainSubstring(gatherCanary), ContainSubstring(base64.StdEncoding.EncodeToString([]byte(gatherCanary)))), path)
		}
		Expect(output).NotTo(ContainSubstring(gatherCanary))

		in, at := "namespaces/"+namespace+"/", "namespaces/"+home+"/"
		for path, wanted := range map[string]string{
			"version":                               "echo-operator/must-gather\n",
			in + "example.com/echoes.yaml":          "name: PASSWORD\n",
			in + "apps/deployments.yaml":            "value: <redacted>",
			in + "core/services.yaml":               "name: web",
			in + "core/pods.yaml":                   "reason: OOMKilled",
			in + "events.k8s.io/events.yaml":        "note: The password is <redacted>.",
			in + "policy/poddisruptionbudgets.yaml": "maxUnavailable: 1",
			at + "apps/deployments.yaml":            "image: quay.io/echo-operator/echo-operator",
			at + "coordination.k8s.io/leases.yaml":  "holderIdentity: operator-x",
			at + "policy/poddisruptionbudgets.yaml": "maxUnavailable: 1",
			"cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions.yaml": "name: echoes.example.com",
			"not-read.txt":            "the metrics of the operator: a person's token is not sent",
			"kubernetes-version.json": `"gitVersion"`,
		} {
			Expect(files).To(HaveKeyWithValue(path, ContainSubstring(wanted)))
		}
	}, SpecTimeout(specTimeout))

	It("writes the data that a user who may view one namespace can read, and reports what it could not read", func(ctx SpecContext) {
		Expect(controlplane.Grant(ctx, k8s, "gather-viewer", namespace, []rbacv1.PolicyRule{
			{APIGroups: []string{"", "apps", "policy", "networking.k8s.io", "discovery.k8s.io", "events.k8s.io", "example.com"},
				Resources: []string{"pods", "services", "deployments", "replicasets", "poddisruptionbudgets", "ingresses", "networkpolicies",
					"endpointslices", "events", "echoes"},
				Verbs: []string{"get", "list"}}})).To(Succeed())
		folder, output := run(impersonating("gather-viewer"), "--namespace="+namespace)
		files := support.FilesBelow(folder)
		Expect(files).To(HaveKeyWithValue("namespaces/"+namespace+"/example.com/echoes.yaml", ContainSubstring("name: web")))
		Expect(files).To(HaveKeyWithValue("not-read.txt",
			MatchRegexp(`(?m)^deployments.apps in the namespace echo-operator-system: .*forbidden`)))
		Expect(files["not-read.txt"]).NotTo(Or(ContainSubstring("secrets"), ContainSubstring("configmaps")), "must-gather must not request them")
		Expect(output).To(ContainSubstring("could not read deployments.apps"))
	}, SpecTimeout(specTimeout))
})

// createWithCanary creates an Echo and related objects, with the canary in every value that can be secret.
func createWithCanary(ctx context.Context, namespace string) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "web"}
	Expect(k8s.Create(ctx, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"password": gatherCanary}})).To(Succeed())
	Expect(k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"password": gatherCanary}})).To(Succeed())
	lastApplied := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"spec":{"env":[{"value":"` + gatherCanary + `"}]}}`}
	echo := support.Echo(namespace, "web", func(e *v1.Echo) {
		e.Annotations = lastApplied
		e.Spec.Args = []string{"--password=" + gatherCanary}
		e.Spec.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: gatherCanary}}
		e.Spec.PodAnnotations = map[string]string{"password": gatherCanary}
		e.Spec.Response = &v1.EchoResponse{Body: gatherCanary, Headers: []v1.EchoHeader{{Name: "X-Password", Value: gatherCanary}}}
	})
	createEcho(ctx, echo)
	template := deploymentNow(ctx, Default, namespace, "web").Spec.Template
	pod := &corev1.Pod{Namespace: namespace, Name: "web-7c9f-x2x4k", Labels: template.Labels,
		Annotations: lastApplied, Spec: template.Spec}
	Expect(k8s.Create(ctx, pod)).To(Succeed())
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: template.Spec.Containers[0].Name, RestartCount: 1,
		LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", Message: "password: " + gatherCanary}}}}
	Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
	Expect(k8s.Create(ctx,
		&eventsv1.Event{ObjectMeta: meta, Reason: "Failed", Action: "Test", Type: corev1.EventTypeWarning, EventTime: metav1.NowMicro(),
			ReportingController: "test", ReportingInstance: "test", Note: "The password is " + gatherCanary + ".",
			Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod.Name, UID: pod.UID}})).To(Succeed())
}

// createOperatorObjects creates the objects that must-gather reads from an operator installation.
func createOperatorObjects(ctx context.Context, namespace string) {
	GinkgoHelper()
	labels := map[string]string{"app.kubernetes.io/name": "echo-operator", "control-plane": "controller-manager"}
	spec := corev1.PodSpec{ServiceAccountName: "operator",
		Containers: []corev1.Container{{Name: "manager", Image: "quay.io/echo-operator/echo-operator:v0.1.0",
			Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: gatherCanary}}}}}
	Expect(k8s.Create(ctx, &appsv1.Deployment{Namespace: namespace, Name: "operator", Labels: labels,
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}}})).To(Succeed())
	Expect(k8s.Create(ctx,
		&corev1.Pod{Namespace: namespace, Name: "operator-x", Labels: labels, Spec: spec})).To(Succeed())
	Expect(k8s.Create(ctx, &policyv1.PodDisruptionBudget{Namespace: namespace, Name: "operator", Labels: labels,
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1))}})).To(Succeed())
	Expect(k8s.Create(ctx, &coordinationv1.Lease{Namespace: namespace, Name: "echo-operator.example.com",
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("operator-x")}})).To(Succeed())
}

// impersonating returns a kubeconfig that impersonates a user who has no certificate.
func impersonating(user string) []byte {
	GinkgoHelper()
	config, err := clientcmd.Load(suiteKubeconfig)
	Expect(err).NotTo(HaveOccurred())
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	text, err := clientcmd.Write(*config)
	Expect(err).NotTo(HaveOccurred())
	return text
}
