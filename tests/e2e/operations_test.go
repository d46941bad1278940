package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the commands of docs/how-to/backup.md", func() {
	It("save Echoes, and restore them after they and their namespace are deleted", func(ctx SpecContext) {
		namespace, folder := namespaces.New(ctx), GinkgoT().TempDir()
		// run runs commands, but limits them to this spec's Echoes.
		run := func(commands string) {
			GinkgoHelper()
			Expect(commands).To(ContainSubstring("--all-namespaces"))
			support.Run(ctx, "cd "+folder+"\n"+strings.ReplaceAll(commands, "--all-namespaces", "--namespace="+namespace))
		}
		plain, full := support.Echo(namespace, "plain"), fullEcho(namespace)
		createReady(ctx, plain)
		createReady(ctx, full)
		run(support.Documented("docs/how-to/backup.md", "## Backup"))
		loseNamespace(ctx, namespace)
		run(support.Documented("docs/how-to/backup.md", "## Restore"))
		expectRestored(ctx, plain)
		restored := expectRestored(ctx, full)
		seen := probe(ctx, restored, "--count=20", "--status=202")
		Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
	}, SpecTimeout(15*time.Minute))
})

// fullEcho returns an Echo that has custom metadata, and for which the operator also creates a NetworkPolicy and an Ingress.
func fullEcho(namespace string) *v1.Echo {
	return support.Echo(namespace, "full", func(e *v1.Echo) {
		e.Labels, e.Annotations = map[string]string{"example.com/team": "platform"}, map[string]string{"example.com/note": "a: \"b\"\n"}
		e.Spec.Replicas = new(int32(3))
		e.Spec.Port = 9000
		e.Spec.Env = []corev1.EnvVar{
			{Name: "ECHO_INFO_NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}
		e.Spec.Response = &v1.EchoResponse{StatusCode: 202, Headers: []v1.EchoHeader{{Name: "X-Team", Value: "platform"}}}
		e.Spec.Service = v1.EchoService{Type: corev1.ServiceTypeNodePort, Port: 8080,
			Annotations: map[string]string{"example.com/contact": "platform"}}
		e.Spec.DisruptionBudget.MaxUnavailable = new(int32(2))
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
		e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "restored.apps.example.com"}
		e.Spec.PodLabels = v1.Labels{"example.com/tier": "tools"}
	})
}

// loseNamespace deletes a namespace and all its objects, and creates an empty namespace with the same name.
func loseNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	lost := &corev1.Namespace{}
	Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, lost)).To(Succeed())
	realcluster.Kubectl(ctx, "delete", "namespace", name, waitTimeout)
	Expect(k8s.Create(ctx, &corev1.Namespace{Name: name, Labels: lost.Labels})).To(Succeed())
}

// expectRestored expects that a new Echo is ready and has a saved Echo's metadata, spec, and objects. It returns the new Echo.
func expectRestored(ctx context.Context, saved *v1.Echo) *v1.Echo {
	GinkgoHelper()
	now := &v1.Echo{Namespace: saved.Namespace, Name: saved.Name}
	waitReady(ctx, now)
	Expect(now.UID).NotTo(Equal(saved.UID))
	Expect(now.Labels).To(Equal(saved.Labels))
	Expect(now.Annotations).To(Equal(saved.Annotations))
	Expect(now.Finalizers).To(Equal([]string{v1.Finalizer}))
	Expect(now.Spec).To(Equal(saved.Spec))
	Expect(now.Status.ReadyReplicas).To(Equal(saved.Spec.DesiredReplicas()))
	Expect(now.Status.URL).To(Equal(saved.Status.URL))
	wanted := []client.Object{&appsv1.Deployment{}, &corev1.Service{}}
	if saved.Spec.Ingress != nil {
		wanted = append(wanted, &networkingv1.Ingress{}, &networkingv1.NetworkPolicy{})
	}
	for _, object := range wanted {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(saved), object)).To(Succeed())
		Expect(metav1.IsControlledBy(object, now)).To(BeTrue(), "%T", object)
	}
	return now
}
