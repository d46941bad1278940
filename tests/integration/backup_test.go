package integration

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// unusual contains all characters that must be quoted in JSON or YAML, and characters that kubectl changes or cannot print as YAML.
const unusual = "null: \"{{.}}\" {.spec} ${x} 'a' # \t\\n\u0001\u007f\u0085\u2028\U0001f600\n---\nkind: List\n"

var _ = Describe("a backup of Echoes", SpecPriority(1), func() {
	It("is restored in another cluster with the documented commands, and the operator makes the Echoes ready there", func(ctx SpecContext) {
		namespace, folder := newNamespace(ctx), GinkgoT().TempDir()
		createSaved(ctx, namespace)
		saved := &v1.EchoList{}
		Expect(k8s.List(ctx, saved, client.InNamespace(namespace))).To(Succeed())
		run := func(kubeconfig []byte, commands string) {
			GinkgoHelper()
			environment := "cd " + folder + "\nexport KUBECONFIG=" + writeKubeconfig(kubeconfig) + " PATH=$KUBEBUILDER_ASSETS:$PATH\n"
			support.Run(ctx, environment+strings.ReplaceAll(commands, "--all-namespaces", "--namespace="+namespace))
		}
		const page = "docs/how-to/backup.md"
		run(suiteKubeconfig, support.Documented(page, "## Backup"))

		server, other := startCluster()
		Expect(other.Create(ctx, &corev1.Namespace{Name: namespace})).To(Succeed())
		startProgram([]string{"KUBECONFIG=" + writeKubeconfig(server.KubeConfig)}, "--health-probe-bind-address=0", "--metrics-bind-address=0")
		create, wait, found := strings.Cut(support.Documented(page, "## Restore"), "kubectl wait")
		Expect(found).To(BeTrue())
		run(server.KubeConfig, create)
		for _, echo := range saved.Items {
			eventuallyRestored(ctx, other, &echo)
		}
		run(server.KubeConfig, "kubectl wait"+wait)
	}, SpecTimeout(specTimeout))
})

// createSaved creates the Echoes to save: a ready Echo, one being deleted, one with unusual names and strings, and one with most fields.
func createSaved(ctx context.Context, namespace string) {
	GinkgoHelper()
	createReadyEcho(ctx, support.Echo(namespace, "ready"))
	Expect(k8s.Delete(ctx, createEcho(ctx, support.Echo(namespace, "deleted")))).To(Succeed())
	Expect(k8s.Create(ctx, support.Echo(namespace, "true", func(e *v1.Echo) {
		e.Labels, e.Annotations = map[string]string{"yes": "1"}, map[string]string{"example.com/note": unusual}
		e.Finalizers = []string{"example.com/theirs"}
		e.Spec.Response = &v1.EchoResponse{StatusCode: 200, Body: unusual}
	}))).To(Succeed())
	Expect(k8s.Create(ctx, support.Echo(namespace, "every", everyServedField))).To(Succeed())
}

// eventuallyRestored completes the rollout of a new Echo, waits until it is Ready, and expects that it has the saved Echo's desired state.
func eventuallyRestored(ctx context.Context, c client.Client, saved *v1.Echo) {
	GinkgoHelper()
	now, deployment := &v1.Echo{}, &appsv1.Deployment{}
	Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(saved), now)).To(Succeed())
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(saved), deployment)).To(Succeed())
		g.Expect(metav1.IsControlledBy(deployment, now)).To(BeTrue())
		g.Expect(support.RollOut(ctx, c, deployment)).To(Succeed())
		g.Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionTrue, nil))
	}).WithContext(ctx).Should(Succeed())
	Expect(now.Spec).To(Equal(saved.Spec), saved.Name)
	Expect(now.Labels).To(Equal(saved.Labels))
	Expect(now.Annotations).To(Equal(saved.Annotations))
	Expect(now.Finalizers).To(And(ContainElements(saved.Finalizers), ContainElement(v1.Finalizer)))
	Expect(now.UID).NotTo(Equal(saved.UID))
	Expect(now.DeletionTimestamp).To(BeNil())
}
