package integration

import (
	"encoding/json"
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

// No operator is running, so only the tests change objects.
var _ = Describe("the command watch", Ordered, func() {
	var server *envtest.Environment
	var c client.Client

	BeforeAll(func() { server, c = startCluster() })

	It("prints an Echo from creation to deletion, but does not print variables", func(ctx SpecContext) {
		environment := []string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig)}
		session, asJSON := startProgram(environment, "watch", "echoes"), startProgram(environment, "watch", "-o", "json", "echoes")
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

		var events []map[string]any
		for line := range strings.Lines(string(asJSON.Out.Contents())) {
			var event map[string]any
			Expect(json.Unmarshal([]byte(line), &event)).To(Succeed(), line)
			events = append(events, event)
		}
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
