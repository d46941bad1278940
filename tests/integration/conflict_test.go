package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("a name that is taken", func() {
	theirs := metav1.ObjectMeta{Name: "taken", Labels: map[string]string{"app": "theirs"}}
	ports := corev1.ServiceSpec{Selector: map[string]string{"app": "theirs"}, Ports: []corev1.ServicePort{{Port: 1234}}}
	pods := appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "theirs"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}},
		},
	}
	disguised := *theirs.DeepCopy()
	disguised.Labels["app.kubernetes.io/managed-by"] = "echo-operator"
	owned := *theirs.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x", Controller: new(true)}}

	DescribeTable("is reported in the status, and the existing object is not changed", func(ctx SpecContext, foreign client.Object, earlier int) {
		foreign = foreign.DeepCopyObject().(client.Object)
		foreign.SetNamespace(newNamespace(ctx))
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		echo := support.Echo(foreign.GetNamespace(), foreign.GetName())
		Expect(k8s.Create(ctx, echo)).To(Succeed())
		expectFailed(ctx, echo, v1.ReasonNameConflict, ContainSubstring("taken already exists, was not created for this Echo"))
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name)).To(And(HaveField("Status.URL", BeEmpty()),
			haveCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonNameConflict)))
		expectUntouched(ctx, k8s, foreign)
		Expect(childrenOf(ctx, echo)).To(Equal(earlier), "only children that are created before it")

		By("deleting the Echo")
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		eventuallyReleased(ctx, k8s, echo)
		expectUntouched(ctx, k8s, foreign)
		Expect(childrenOf(ctx, echo)).To(BeZero())
	},
		Entry("by a Service with the operator's label", &corev1.Service{ObjectMeta: disguised, Spec: ports}, 0),
		Entry("by a Deployment with another owner", &appsv1.Deployment{ObjectMeta: owned, Spec: pods}, 1),
	)
})

func expectUntouched(ctx context.Context, c client.Client, before client.Object) {
	GinkgoHelper()
	now := before.DeepCopyObject().(client.Object)
	Expect(c.Get(ctx, client.ObjectKeyFromObject(before), now)).To(Succeed())
	Expect(now.GetResourceVersion()).To(Equal(before.GetResourceVersion()))
	Expect(now.GetUID()).To(Equal(before.GetUID()))
}

// childrenOf returns the number of an Echo's children.
func childrenOf(ctx context.Context, echo *v1.Echo) int {
	GinkgoHelper()
	n := 0
	for _, list := range []client.ObjectList{&corev1.ServiceList{}, &appsv1.DeploymentList{}} {
		Expect(k8s.List(ctx, list, client.InNamespace(echo.Namespace))).To(Succeed())
		Expect(meta.EachListItem(list, func(child runtime.Object) error {
			if metav1.IsControlledBy(child.(client.Object), echo) {
				n++
			}
			return nil
		})).To(Succeed())
	}
	return n
}
