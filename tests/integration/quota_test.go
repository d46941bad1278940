package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("a resource quota", func() {
	DescribeTable("that has no room for an object is named in the status, and the Echo recovers",
		func(ctx SpecContext, kind, name string, change func(*v1.EchoSpec)) {
			namespace := newNamespace(ctx)
			quota := createQuota(ctx, namespace, name, "0")
			echo := support.Echo(namespace, "short", func(e *v1.Echo) { change(&e.Spec) })
			Expect(k8s.Create(ctx, echo)).To(Succeed())
			Eventually(func(g Gomega) {
				now := echoNow(ctx, g, echo.Namespace, echo.Name)
				g.Expect(now).To(haveCondition(v1.ConditionDegraded, metav1.ConditionTrue, v1.ReasonQuotaExceeded))
				g.Expect(now.Status.Message).To(And(
					HavePrefix("A resource quota rejects the "+kind+` short: "exceeded quota: none, `), ContainSubstring(name+"=1")))
			}).WithContext(ctx).Should(Succeed())
			Expect(k8s.Delete(ctx, quota)).To(Succeed())
			rollOut(ctx, echo.Namespace, echo.Name)
		},
		Entry("services", "Service", "services", func(*v1.EchoSpec) {}),
		Entry("NetworkPolicies", "NetworkPolicy", "count/networkpolicies.networking.k8s.io",
			func(s *v1.EchoSpec) { s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true)} }),
	)

	DescribeTable("that rejects pods and companions is named in the status and an event", func(ctx SpecContext, name, hard, refusal string) {
		namespace := newNamespace(ctx)
		echo := createEcho(ctx, support.Echo(namespace, "short", func(e *v1.Echo) {
			e.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}
		}))
		owner := createOwner(ctx, k8s, namespace, "web", echo.Name)
		quota := createQuota(ctx, namespace, name, hard)
		template := deploymentNow(ctx, Default, namespace, echo.Name).Spec.Template
		pod := &corev1.Pod{Namespace: namespace, Name: "short-1", Labels: template.Labels, Spec: template.Spec}
		var refused error
		Eventually(func() error { // the API server learns of the quota through a watch
			refused = k8s.Create(ctx, pod.DeepCopy(), client.DryRunAll)
			return refused
		}).WithContext(ctx).Should(HaveOccurred())
		patchStatus(ctx, deploymentNow(ctx, Default, namespace, echo.Name), func(d *appsv1.Deployment) { // as the Kubernetes controllers would
			d.Status.ObservedGeneration = d.Generation
			d.Status.Conditions = []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetCreated"},
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: refused.Error()}}
		})
		expectCause(ctx, echo, v1.ReasonQuotaExceeded, `A resource quota rejects the pods: "`+refusal)
		bind(ctx, k8s, owner, newNode(ctx, k8s))
		Eventually(func(g Gomega) {
			g.Expect(support.EventsOf(ctx, g, k8s, owner)).To(ContainElement(And(HaveField("Reason", "CompanionNotCreated"),
				HaveField("Note", And(HavePrefix("A resource quota rejects the Pod web-echo-"), ContainSubstring(refusal), ContainSubstring(name))))))
		}).WithContext(ctx).Should(Succeed())
		Expect(k8s.Delete(ctx, quota)).To(Succeed())
		eventuallyOne(ctx, k8s, owner)
	},
		Entry("pods", "pods", "0", "exceeded quota: none, "),
		Entry("a limit of CPU that is not set", "limits.cpu", "10", "failed quota: none: must specify limits.cpu"),
	)
})

// createQuota creates an unused resource quota, with the status that the Kubernetes controller would set.
func createQuota(ctx context.Context, namespace, name, hard string) *corev1.ResourceQuota {
	GinkgoHelper()
	limit := corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(hard)}
	quota := &corev1.ResourceQuota{Namespace: namespace, Name: "none", Spec: corev1.ResourceQuotaSpec{Hard: limit}}
	Expect(k8s.Create(ctx, quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: limit, Used: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse("0")}}
	Expect(k8s.Status().Update(ctx, quota)).To(Succeed())
	return quota
}
