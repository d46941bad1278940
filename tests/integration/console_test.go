package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	consolev1 "github.com/openshift/api/console/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("samples and quick starts in the OpenShift console", func() {
	It("are added by each operator that OLM installed, and owned by the ClusterRole that OLM created", func(ctx SpecContext) {
		server, admin := startCluster(append(support.GatewayCRDs(ctx), support.OpenShiftCRDs(ctx, "console", ""))...)
		for _, name := range []string{"console-a", "console-b"} {
			Expect(admin.Create(ctx, &corev1.Namespace{Name: name + "-own"})).To(Succeed())
			user := addOperator(ctx, server, admin, name, []string{name + "-own"})
			Expect(controlplane.Grant(ctx, admin, "operator-"+name, metav1.NamespaceAll,
				manifest("manifests/console_role.yaml", &rbacv1.ClusterRole{}).Rules)).To(Succeed())
			Expect(admin.Create(ctx, &rbacv1.ClusterRole{Name: "of-olm-" + name, Labels: map[string]string{
				"olm.owner": "echo-operator.v0.1.0", "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": name + "-own"}})).To(Succeed())
			startProgram([]string{"KUBECONFIG=" + writeKubeconfig(user.kubeconfig), "WATCH_NAMESPACE=" + name + "-own",
				"OPERATOR_CONDITION_NAME=echo-operator.v0.1.0"},
				"--leader-elect", "--leader-election-namespace="+name+"-own", "--health-probe-bind-address=0", "--metrics-bind-address=0")
		}
		ownedByBoth := HaveField("OwnerReferences", ConsistOf(
			And(HaveField("Kind", "ClusterRole"), HaveField("Name", "of-olm-console-a")),
			And(HaveField("Kind", "ClusterRole"), HaveField("Name", "of-olm-console-b"))))
		Eventually(func(g Gomega) {
			samples, starts := &consolev1.ConsoleYAMLSampleList{}, &consolev1.ConsoleQuickStartList{}
			g.Expect(admin.List(ctx, samples)).To(Succeed())
			g.Expect(admin.List(ctx, starts)).To(Succeed())
			g.Expect(len(samples.Items)).To(BeNumerically(">=", 7))
			g.Expect(samples.Items).To(HaveEach(ownedByBoth))
			g.Expect(samples.Items).To(ContainElement(HaveField("Name", "echo-operator-example-gateway")))
			g.Expect(starts.Items).To(ConsistOf(And(HaveField("Name", "echo-operator-first-echo"), ownedByBoth,
				HaveField("Spec.Tasks", HaveLen(3)))))
		}).WithContext(ctx).Should(Succeed())
	}, SpecTimeout(specTimeout))
})
