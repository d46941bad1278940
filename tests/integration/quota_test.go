package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
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

	It("that rejects a companion is named in an event on the Echo, which stays ready and counts the missing companion", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		echo := createReadyEcho(ctx, support.Echo(namespace, "short"))
		quota := createQuota(ctx, namespace, "count/pods", "1")
		owner := createOwner(ctx, k8s, namespace, "web", echo.Name) // uses up the quota
		bind(ctx, k8s, owner, newNode(ctx, k8s))
		const note = "1 companion is missing."
		Eventually(func(g Gomega) {
			now := echoNow(ctx, g, namespace, echo.Name)
			g.Expect(now.Status.Message).To(ContainSubstring(note))
			g.Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonAllPodsReady))
			g.Expect(support.EventsOf(ctx, g, k8s, echo)).To(ContainElement(And(HaveField("Reason", "CompanionNotCreated"),
				HaveField("Note", HavePrefix("A resource quota rejects the Pod web-echo-")))))
		}).WithContext(ctx).Should(Succeed())
		Expect(k8s.Delete(ctx, quota)).To(Succeed())
		eventuallyOne(ctx, k8s, owner)
		Eventually(func(g Gomega) {
			g.Expect(echoNow(ctx, g, namespace, echo.Name).Status.Message).NotTo(ContainSubstring(note))
		}).WithContext(ctx).Should(Succeed())
	})

	It("that has no room for the CronJob of a check is named in the check's status", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		quota := createQuota(ctx, namespace, "count/cronjobs.batch", "0")
		echo := createReadyEcho(ctx, checkedEcho(namespace, "web"))
		expectCheck(ctx, echo, v1.CheckUnknown, `A resource quota rejects the CronJob `+objects.CronJob(echo, "path").Key.Name+`: "exceeded quota: none, requested: count/cronjobs.batch=1`)
		Expect(k8s.Delete(ctx, quota)).To(Succeed())
		eventuallyCronJob(ctx, echo, "path")
	})

	DescribeTable("that has no room for a run of a check is named in the check's status",
		func(ctx SpecContext, name, hard, message string) {
			echo := createReadyEcho(ctx, checkedEcho(newNamespace(ctx), "web"))
			job := eventuallyCronJob(ctx, echo, "path")
			quota := createQuota(ctx, echo.Namespace, name, hard)
			patchStatus(ctx, job, func(job *batchv1.CronJob) {
				job.Status.LastScheduleTime = &metav1.Time{Time: time.Now().Add(-time.Hour)}
			})
			expectCheck(ctx, echo, v1.CheckUnknown, "The last run gave no result: A resource quota rejects the "+message)
			Expect(k8s.Delete(ctx, quota)).To(Succeed())
			Eventually(func(g Gomega) { // the dry run creates nothing, and shows that nothing rejects the object anymore
				edit(ctx, echo, func(e *v1.Echo) { e.Annotations = map[string]string{"now": time.Now().String()} })
				g.Expect(echoNow(ctx, g, echo.Namespace, echo.Name).Status.Checks[0].Message).To(ContainSubstring("its Job has created no pod"))
			}).WithContext(ctx).Should(Succeed())
		},
		Entry("pods", "pods", "0", `Pod of the check: "exceeded quota: none, requested: pods=`),
		Entry("a limit of CPU that is not set", "limits.cpu", "10",
			`Pod of the check: "failed quota: none: must specify limits.cpu for: check". Set spec.resources in the Echo`),
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
