package e2e

import (
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the overlay for OpenShift", func() {
	deploy := func(overlay string) {
		GinkgoHelper()
		command := exec.Command("tools/make/deploy")
		command.Dir, command.Env = "../..", append(command.Environ(), "OVERLAY="+overlay)
		session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		Eventually(session).Should(gexec.Exit(0))
	}
	// replicas returns the pods of the operator, the leader first.
	replicas := func(ctx SpecContext, g Gomega) []corev1.Pod {
		lease, list := &coordinationv1.Lease{}, &corev1.PodList{}
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorLease}, lease)).To(Succeed())
		g.Expect(k8s.List(ctx, list, client.InNamespace(operatorNamespace))).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
		leads := func(pod corev1.Pod) bool { return strings.HasPrefix(*lease.Spec.HolderIdentity, pod.Name+"_") }
		leader := slices.IndexFunc(list.Items, leads)
		g.Expect(leader).NotTo(Equal(-1), "the leader is %s", *lease.Spec.HolderIdentity)
		return append(slices.Clone(list.Items[leader:]), list.Items[:leader]...)
	}

	It("runs two replicas, of which one may be evicted and the other takes over", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "handed-over")
		createReady(ctx, echo)
		DeferCleanup(func(ctx SpecContext) {
			deploy("config/default")
			realcluster.Kubectl(ctx, "delete", "poddisruptionbudget", operatorDeployment, "-n", operatorNamespace)
		}, NodeTimeout(5*time.Minute))
		deploy("config/openshift")

		var first corev1.Pod
		Eventually(func(g Gomega) {
			all, budget := replicas(ctx, g), &policyv1.PodDisruptionBudget{}
			g.Expect(all).To(HaveLen(2))
			g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorDeployment}, budget)).To(Succeed())
			g.Expect(budget.Status.DisruptionsAllowed).To(BeEquivalentTo(1))
			first = all[0]
		}).WithContext(ctx).Should(Succeed())
		Expect(k8s.SubResource("eviction").Create(ctx, &first, &policyv1.Eviction{})).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(replicas(ctx, g)[0].Name).NotTo(Equal(first.Name)) }).WithContext(ctx).Should(Succeed())
		edit(ctx, echo, func(spec *v1.EchoSpec) { spec.Replicas = new(int32(1)) })
		waitReady(ctx, echo)
	}, SpecTimeout(10*time.Minute))
})
