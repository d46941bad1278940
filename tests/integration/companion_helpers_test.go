package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// createEchoAndOwner creates an Echo and a pod with a companion from this Echo.
func createEchoAndOwner(ctx context.Context, name string) (*v1.Echo, *corev1.Pod) {
	GinkgoHelper()
	echo := createEcho(ctx, support.Echo(newNamespace(ctx), name))
	owner := createOwner(ctx, k8s, echo.Namespace, "web-0", name)
	bind(ctx, k8s, owner, newNode(ctx, k8s))
	eventuallyOne(ctx, k8s, owner)
	return echo, owner
}

// createOwner creates a pod that requests a companion from an Echo.
func createOwner(ctx context.Context, c client.Client, namespace, name, echo string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{
		Namespace: namespace, Name: name, Labels: map[string]string{"app": "web", v1.CompanionLabel: echo},
		Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: "web", Image: "web:1"}},
			Tolerations: []corev1.Toleration{{Key: "rare", Operator: corev1.TolerationOpExists}},
		},
	}
	Expect(c.Create(ctx, pod)).To(Succeed())
	return pod
}

func newNode(ctx context.Context, c client.Client) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{GenerateName: "node-"}
	Expect(c.Create(ctx, node)).To(Succeed())
	return node
}

// bind assigns a pod to a node, as the scheduler does.
func bind(ctx context.Context, c client.Client, pod *corev1.Pod, node *corev1.Node) {
	GinkgoHelper()
	Expect(c.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}})).To(
		Succeed())
}

// companionsNow returns the companions in a namespace.
func companionsNow(ctx context.Context, g Gomega, c client.Client, namespace string) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "echo-companion"})).To(Succeed())
	return list.Items
}

// eventuallyOne waits until a pod's namespace contains exactly one companion, and this companion belongs to the pod.
func eventuallyOne(ctx context.Context, c client.Client, owner *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	var all []corev1.Pod
	Eventually(func(g Gomega) {
		all = companionsNow(ctx, g, c, owner.Namespace)
		g.Expect(all).To(HaveLen(1))
		g.Expect(all[0].DeletionTimestamp).To(BeNil())
		g.Expect(metav1.IsControlledBy(&all[0], owner)).To(BeTrue())
	}).WithContext(ctx).Should(Succeed())
	return &all[0]
}
