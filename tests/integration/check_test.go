package integration

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
	"github.com/echo-operator/echo-operator/tests/support"
)

// The test cluster has no CronJob controller. The specs create pods with the results that a check would write.
var _ = Describe("a check", func() {
	good := verdict.Verdict{Facts: 2}
	unknown := verdict.Verdict{Facts: 2, Unknown: []verdict.Unknown{{Name: "client.address", Reason: "errors"}}}
	bad := verdict.Verdict{Facts: 2, Failed: []verdict.Unmet{{Name: "client.address", Want: "kept", Got: "replaced"}}}

	It("is a CronJob, which is restored, and is deleted with the check", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, checkedEcho(newNamespace(ctx), "web"))
		job := eventuallyCronJob(ctx, echo, "path")
		Expect(metav1.IsControlledBy(job, echo)).To(BeTrue())
		By("reverting another client's edits, and keeping another client's additions")
		edit(ctx, job, func(job *batchv1.CronJob) {
			job.Spec.Schedule, job.Spec.Suspend = "@yearly", new(true)
			job.Labels["team"] = "a"
			job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args = []string{"http://other.example.com"}
		})
		Eventually(func(g Gomega) {
			job = cronJobNow(ctx, g, echo, "path")
			g.Expect(job.Spec.Schedule).To(Equal("*/5 * * * *"))
			g.Expect(*job.Spec.Suspend).To(BeFalse())
			g.Expect(job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args).To(ContainElement(echo.Status.URL))
			g.Expect(job.Labels).To(HaveKeyWithValue("team", "a"))
		}).WithContext(ctx).Should(Succeed())
		By("recreating the CronJob after its container was renamed, or the CronJob was deleted")
		edit(ctx, job, func(job *batchv1.CronJob) { job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Name = "other" })
		eventuallyReplaced(ctx, echo, job)
		job = eventuallyCronJob(ctx, echo, "path")
		Expect(k8s.Delete(ctx, job)).To(Succeed())
		eventuallyReplaced(ctx, echo, job)
		By("writing nothing when nothing has changed")
		version := cronJobNow(ctx, Default, echo, "path").ResourceVersion
		edit(ctx, echo, func(e *v1.Echo) { e.Annotations = map[string]string{"a": "b"} })
		Consistently(func(g Gomega) string { return cronJobNow(ctx, g, echo, "path").ResourceVersion }).
			WithContext(ctx).Should(Equal(version))
		By("deleting the CronJob with the check")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Checks = nil })
		eventuallyGone(ctx, k8s, job)
		Eventually(func(g Gomega) {
			now := echoNow(ctx, g, echo.Namespace, echo.Name)
			g.Expect(now.Status.Checks).To(BeEmpty())
			g.Expect(now.Status.Conditions).NotTo(ContainElement(HaveField("Type", v1.ConditionPathsHealthy)))
		}).WithContext(ctx).Should(Succeed())
	})

	It("reports the result of its last run", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, checkedEcho(newNamespace(ctx), "web"))
		expectCheck(ctx, echo, v1.CheckUnknown, "has not run yet")
		run(ctx, echo, "path", string(good.Encode()))
		expectCheck(ctx, echo, v1.CheckPassed, "")
		support.EventuallyObject(ctx, k8s, echo).Should(haveCondition(v1.ConditionPathsHealthy, metav1.ConditionTrue, v1.ReasonChecksPassed))
		run(ctx, echo, "path", string(unknown.Encode()))
		expectCheck(ctx, echo, v1.CheckUnknown, "client.address is unknown: errors.")
		run(ctx, echo, "path", string(bad.Encode()))
		expectCheck(ctx, echo, v1.CheckFailed, "client.address is replaced, expected kept.")
		now := echoNow(ctx, Default, echo.Namespace, echo.Name)
		Expect(now).To(haveCondition(v1.ConditionPathsHealthy, metav1.ConditionFalse, v1.ReasonCheckFailed))
		Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionTrue, nil), "the path changes nothing else")
		Expect(now).To(haveCondition(v1.ConditionDegraded, metav1.ConditionFalse, nil))
		run(ctx, echo, "path", string(good.Encode()))
		expectCheck(ctx, echo, v1.CheckPassed, "")
		Eventually(func(g Gomega) []string { return eventReasons(ctx, g, echo) }).WithContext(ctx).Should(ContainElements("CheckPassed",
			"CheckFailed", "CheckPassed"))
	})

	It("connects to the Service unless another field manager limits the Service to the pods on a node", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, checkedEcho(newNamespace(ctx), "local"))
		service := "--own-service=http://local." + echo.Namespace + ".svc"
		arguments := func(g Gomega) []string {
			return cronJobNow(ctx, g, echo, "path").Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args
		}
		Eventually(arguments).WithContext(ctx).Should(ContainElement(service))
		kubectlInput(ctx, `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "local"}, "spec": {"internalTrafficPolicy": "Local"}}`,
			"apply", "--server-side", "--field-manager=platform-team", "-n", echo.Namespace, "-f", "-")
		Eventually(arguments).WithContext(ctx).ShouldNot(ContainElement(service))
		expectNoWrite(ctx, echo)
		kubectl(ctx, "patch", "service", "local", "-n", echo.Namespace, "-p", `{"spec": {"internalTrafficPolicy": "Cluster"}}`)
		Eventually(arguments).WithContext(ctx).Should(ContainElement(service))
	})

	It("reports why it cannot run, and does not stop the other checks", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		name := func(check string) string { return objects.CronJob(support.Echo(namespace, "web"), check).Key.Name }
		foreign := &batchv1.CronJob{Namespace: namespace, Name: name("path"),
			Spec: batchv1.CronJobSpec{Schedule: "@yearly",
				JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "a"}}}}}}}}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		echo := createReadyEcho(ctx, checkedEcho(namespace, "web", nil, func(c *v1.EchoCheck) { c.Name, c.Schedule = "late", "99 * * * *" },
			func(c *v1.EchoCheck) { c.Name, c.URL = "other", "http://example.org/" }, func(c *v1.EchoCheck) { c.Name = "good" },
			func(c *v1.EchoCheck) { c.Name, c.URL = "outside", "" },
			func(c *v1.EchoCheck) { c.Name, c.Groups = "unknown", []string{"client", "others"} }))
		Eventually(func(g Gomega) {
			messages := map[string]string{}
			for _, check := range echoNow(ctx, g, namespace, "web").Status.Checks {
				g.Expect(check.Result).To(Equal(v1.CheckUnknown))
				messages[check.Name] = check.Message
			}
			g.Expect(messages).To(HaveKeyWithValue("path", ContainSubstring("The CronJob "+name("path")+" already exists, was not created for")))
			g.Expect(messages).To(HaveKeyWithValue("late", HavePrefix(`The check cannot run. The field spec.checks[late].schedule is not valid: "`)))
			g.Expect(messages).To(HaveKeyWithValue("other", ContainSubstring("In the field spec.checks[other].url, the operator allows only")))
			g.Expect(messages).To(HaveKeyWithValue("good", ContainSubstring("has not run yet")))
			g.Expect(messages).To(HaveKeyWithValue("unknown", ContainSubstring("the group others is unknown; the known groups are body, client,")))
			g.Expect(messages).To(HaveKeyWithValue("outside", ContainSubstring("no external URL yet")))
		}).WithContext(ctx).Should(Succeed())
		run(ctx, echo, "good", string(good.Encode()))
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.Checks", ContainElement(
			And(HaveField("Name", "good"), HaveField("Result", v1.CheckPassed)))))
		Expect(cronJobNow(ctx, Default, echo, "path").ResourceVersion).To(Equal(foreign.ResourceVersion))
		By("running as soon as the cause is gone")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Checks[1].Schedule = "@hourly" })
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Checks[5].Groups = []string{"client"} })
		eventuallyCronJob(ctx, echo, "late")
		eventuallyCronJob(ctx, echo, "unknown")
		By("no longer running when it is no longer allowed")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Checks[1].Address = "192.0.2.1" })
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Checks[5].Groups = []string{"others"} })
		eventuallyGone(ctx, k8s, &batchv1.CronJob{Namespace: namespace, Name: name("late")})
		eventuallyGone(ctx, k8s, &batchv1.CronJob{Namespace: namespace, Name: name("unknown")})
	})
})

// checkedEcho returns an Echo that checks its own Service, with one check for each change. Without changes, there is one unchanged check. A
// change can be nil.
func checkedEcho(namespace, name string, changes ...func(*v1.EchoCheck)) *v1.Echo {
	return support.Echo(namespace, name, func(e *v1.Echo) {
		e.Spec.Replicas = new(int32(1))
		for _, change := range append(changes, nil)[:max(1, len(changes))] {
			check := v1.EchoCheck{Name: "path", Schedule: "*/5 * * * *", URL: fmt.Sprintf("http://%s.%s.svc", name, namespace)}
			if change != nil {
				change(&check)
			}
			e.Spec.Checks = append(e.Spec.Checks, check)
		}
	})
}

// eventuallyCronJob waits until a check's CronJob exists, and returns it.
func eventuallyCronJob(ctx context.Context, echo *v1.Echo, check string) *batchv1.CronJob {
	GinkgoHelper()
	var job *batchv1.CronJob
	Eventually(func(g Gomega) { job = cronJobNow(ctx, g, echo, check) }).WithContext(ctx).Should(Succeed())
	return job
}

func cronJobNow(ctx context.Context, g Gomega, echo *v1.Echo, check string) *batchv1.CronJob {
	return get(ctx, g, echo.Namespace, objects.CronJob(echo, check).Key.Name, &batchv1.CronJob{})
}

// eventuallyReplaced waits until a new CronJob with the same name replaces the given CronJob.
func eventuallyReplaced(ctx context.Context, echo *v1.Echo, job *batchv1.CronJob) {
	GinkgoHelper()
	Eventually(func(g Gomega) types.UID { return get(ctx, g, echo.Namespace, job.Name, &batchv1.CronJob{}).UID }).
		WithContext(ctx).ShouldNot(Equal(job.UID))
}

// run creates a pod as a CronJob would. The pod has terminated with the given message.
func run(ctx context.Context, echo *v1.Echo, check, message string) {
	GinkgoHelper()
	job := eventuallyCronJob(ctx, echo, check)
	template := job.Spec.JobTemplate.Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.GenerateName = echo.Namespace, job.Name+"-"
	earlier := &corev1.PodList{}
	Expect(k8s.List(ctx, earlier, client.InNamespace(echo.Namespace))).To(Succeed())
	last := metav1.NewTime(time.Now().Add(time.Duration(len(earlier.Items)) * time.Second))
	Expect(k8s.Create(ctx, pod)).To(Succeed())
	pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded,
		ContainerStatuses: []corev1.ContainerStatus{{Name: "check", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: message, Reason: "Completed", FinishedAt: last}}}}}
	Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
}

// expectCheck waits until the first check has the given result, and a message that contains the given text.
func expectCheck(ctx context.Context, echo *v1.Echo, result v1.CheckResult, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		checks := echoNow(ctx, g, echo.Namespace, echo.Name).Status.Checks
		g.Expect(checks).NotTo(BeEmpty())
		g.Expect(checks[0].Result).To(Equal(result), checks[0].Message)
		g.Expect(checks[0].Message).To(ContainSubstring(message))
	}).WithContext(ctx).Should(Succeed())
}
