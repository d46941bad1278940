package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the two replicas of the operator", Serial, func() {
	remove := func(ctx context.Context, pod, _ *corev1.Pod) { Expect(k8s.Delete(ctx, pod)).To(Succeed()) }
	evictOne := func(ctx context.Context, pod, other *corev1.Pod) {
		Expect(evict(ctx, pod)).To(Succeed())
		err := evict(ctx, other)
		Expect(err).To(Satisfy(apierrors.IsTooManyRequests), "the budget must protect the only ready pod")
		Expect(apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)).To(BeTrue(), "%v", err)
	}
	killOne := func(ctx context.Context, pod, _ *corev1.Pod) { kill(ctx, pod) }

	DescribeTable("take over from each other without affecting an Echo",
		func(ctx SpecContext, end func(ctx context.Context, pod, other *corev1.Pod), isReleased bool) {
			echo, expectUnaffected := watchedEcho(ctx)
			leader, other := awaitReplicas(ctx)
			holders := support.Record(ctx, k8s, &coordinationv1.LeaseList{}, holder, client.InNamespace(operatorNamespace))
			noteLogErrors(ctx)
			end(ctx, leader, other)
			ended := time.Now()
			Eventually(func(g Gomega) { g.Expect(replicas(ctx, g)[0].UID).NotTo(Equal(leader.UID)) }).WithContext(ctx).Should(Succeed())
			AddReportEntry("time without a leader", ReportEntryVisibilityAlways, time.Since(ended).Round(100*time.Millisecond).String())
			expectWorks(ctx, echo)
			expectUnaffected()
			if isReleased { // the other replica does not have to wait until the lease expires
				Expect(holders()).To(ContainElement(""))
			} else {
				Expect(holders()).NotTo(ContainElement(""))
			}
		},
		Entry("when the leader is deleted", SpecTimeout(10*time.Minute), remove, true),
		Entry("when the leader is evicted", SpecTimeout(10*time.Minute), evictOne, true),
		Entry("when the leader is killed", SpecTimeout(10*time.Minute), killOne, false),
	)

	DescribeTable("keep their leader", func(ctx SpecContext, end func(ctx context.Context, pod, other *corev1.Pod)) {
		echo, expectUnaffected := watchedEcho(ctx)
		leader, other := awaitReplicas(ctx)
		noteLogErrors(ctx)
		end(ctx, other, leader)
		expectWorks(ctx, echo)
		Expect(replicas(ctx, Default)[0].UID).To(Equal(leader.UID))
		expectUnaffected()
	},
		Entry("when the other replica is deleted", SpecTimeout(10*time.Minute), remove),
		Entry("when the other replica is evicted", SpecTimeout(10*time.Minute), evictOne),
	)

	It("are replaced in a rollout without affecting an Echo", func(ctx SpecContext) {
		echo, expectUnaffected := watchedEcho(ctx)
		leader, other := awaitReplicas(ctx)
		noteLogErrors(ctx)
		DeferCleanup(setEnvironment, "MAX_REPLICAS-", NodeTimeout(5*time.Minute))
		setEnvironment(ctx, "MAX_REPLICAS=19")
		expectWorks(ctx, echo)
		for _, pod := range replicas(ctx, Default) {
			Expect(pod.UID).NotTo(BeElementOf(leader.UID, other.UID))
		}
		expectUnaffected()
	}, SpecTimeout(15*time.Minute))

	It("can be reduced to one, which may also be evicted", func(ctx SpecContext) {
		support.Run(ctx, support.Documented("docs/how-to/install.md", "To run one replica"))
		realcluster.Kubectl(ctx, "rollout", "status", "deployment", "-n", operatorNamespace, operatorDeployment, waitTimeout)
		leader := awaitLeader(ctx)
		Expect(replicas(ctx, Default)).To(HaveLen(1))
		awaitBudget(ctx, 1)
		noteLogErrors(ctx)
		Expect(evict(ctx, leader)).To(Succeed())
	}, SpecTimeout(10*time.Minute))
})

// watchedEcho creates an Echo. The returned function expects that since then, the Echo's phase has always been Ready or Updating, and the
// operator's Deployment has always been Available.
func watchedEcho(ctx context.Context) (*v1.Echo, func()) {
	GinkgoHelper()
	echo := support.Echo(namespaces.New(ctx), "watched")
	createReady(ctx, echo)
	awaitReplicas(ctx)
	phases := support.Record(ctx, k8s, &v1.EchoList{}, func(e *v1.Echo) string { return e.Status.Phase }, client.InNamespace(echo.Namespace))
	availability := support.Record(ctx, k8s, &appsv1.DeploymentList{}, available, client.InNamespace(operatorNamespace))
	return echo, func() {
		GinkgoHelper()
		Expect(phases()).To(And(ContainElement(v1.PhaseUpdating), HaveEach(BeElementOf(v1.PhaseReady, v1.PhaseUpdating))))
		Expect(availability()).To(And(ContainElement(HavePrefix("1 ")), HaveEach(HaveSuffix(" True"))))
	}
}

// holder returns the holder of a lease, or "" if the lease has been released.
func holder(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// available returns the number of available pods of a Deployment, and the status of the Deployment's Available condition.
func available(d *appsv1.Deployment) string {
	status := corev1.ConditionUnknown
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable {
			status = condition.Status
		}
	}
	return fmt.Sprintf("%d %s", d.Status.AvailableReplicas, status)
}

// awaitReplicas waits until both replicas are ready, and one of them can be evicted.
func awaitReplicas(ctx context.Context) (leader, other *corev1.Pod) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "rollout", "status", "deployment", "-n", operatorNamespace, operatorDeployment, waitTimeout)
	awaitBudget(ctx, 2)
	awaitLeader(ctx)
	found := replicas(ctx, Default)
	Expect(found).To(HaveLen(2))
	return &found[0], &found[1]
}

// awaitBudget waits until the PodDisruptionBudget's status reports the given number of healthy replicas and allows an eviction.
func awaitBudget(ctx context.Context, healthy int32) {
	GinkgoHelper()
	budget := &policyv1.PodDisruptionBudget{}
	budget.Namespace, budget.Name = operatorNamespace, operatorDeployment
	support.EventuallyObject(ctx, k8s, budget).Should(HaveField("Status", And(HaveField("CurrentHealthy", healthy),
		HaveField("ExpectedPods", healthy), HaveField("DisruptionsAllowed", int32(1)))))
}

func evict(ctx context.Context, pod *corev1.Pod) error {
	return k8s.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
}

// expectWorks expects that the operator applies a change to an Echo, and that both replicas are ready again.
func expectWorks(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	edit(ctx, echo, func(spec *v1.EchoSpec) { spec.Replicas = new(int32(3)) })
	waitReady(ctx, echo)
	awaitReplicas(ctx)
}

// setEnvironment sets or removes an environment variable of the operator, and waits until all replicas have been replaced.
func setEnvironment(ctx context.Context, variable string) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "set", "env", "deployment", "-n", operatorNamespace, operatorDeployment, variable)
	realcluster.Kubectl(ctx, "rollout", "status", "deployment", "-n", operatorNamespace, operatorDeployment, waitTimeout)
}
