package crashes

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the permissions of the operator", func() {
	It("are all revoked and granted again", func(ctx SpecContext) {
		s := newStage(ctx).probe(ctx)
		s.await(ctx, 8)
		revoke := func() {
			crash("revoking all permissions")
			Expect(k8s.Delete(ctx, &rbacv1.ClusterRoleBinding{Name: "echo-operator-manager-rolebinding"})).To(
				Succeed())
		}
		revoke()
		s.await(ctx, 20)
		apply(ctx)
		s.await(ctx, 8)

		leader, _ := awaitLeader(ctx)
		revoke()
		kill(ctx, leader)
		dropLease(ctx)
		expectRestart(ctx, leader)
		s.await(ctx, 20)
		apply(ctx)
		s.await(ctx, 8)
		s.verify(ctx)
	}, SpecTimeout(specTimeout))

	It("to write Deployments are revoked and granted again, and the status reports this in the meantime", func(ctx SpecContext) {
		s := newStage(ctx).probe(ctx)
		told, ending := support.Echo(s.namespace, "told"), support.Echo(s.namespace, "ending")
		for _, echo := range []*v1.Echo{told, ending} {
			Expect(k8s.Create(ctx, echo)).To(Succeed())
		}
		Eventually(func(g Gomega) {
			for _, echo := range []*v1.Echo{told, ending} {
				g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
				g.Expect(echo.Status.Phase).To(Equal(v1.PhaseReady))
			}
		}).WithContext(ctx).Should(Succeed())
		revokeDeployments(ctx)
		before := told.DeepCopy()
		told.Spec.Env = []corev1.EnvVar{{Name: "ECHO_INFO_COLOR", Value: "blue"}}
		Expect(k8s.Patch(ctx, told, client.MergeFrom(before))).To(Succeed())
		Expect(k8s.Delete(ctx, ending)).To(Succeed())
		for _, echo := range []*v1.Echo{told, ending} {
			eventuallyForbidden(ctx, echo)
		}
		s.await(ctx, 20)
		apply(ctx)
		Eventually(func() bool { return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(ending), ending)) }).
			WithContext(ctx).Should(BeTrue())
		s.await(ctx, 8)
		s.verify(ctx)
	}, SpecTimeout(specTimeout))
})

// revokeDeployments revokes the operator's permission to write Deployments.
func revokeDeployments(ctx context.Context) {
	GinkgoHelper()
	crash("revoking the permission to write Deployments")
	role := &rbacv1.ClusterRole{}
	Expect(k8s.Get(ctx, client.ObjectKey{Name: "echo-operator-manager-role"}, role)).To(Succeed())
	before := role.DeepCopy()
	for i := range role.Rules {
		if slices.Contains(role.Rules[i].Resources, "deployments") {
			role.Rules[i].Verbs = []string{"get", "list", "watch"}
		}
	}
	Expect(role.Rules).NotTo(Equal(before.Rules))
	Expect(k8s.Patch(ctx, role, client.MergeFrom(before))).To(Succeed())
}

// eventuallyForbidden waits until an Echo's status reports which permission is missing.
func eventuallyForbidden(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := &v1.Echo{}
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), now)).To(Succeed())
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
		g.Expect(now.Status.Conditions).To(ContainElement(And(HaveField("Type", v1.ConditionDegraded), HaveField("Status", metav1.ConditionTrue),
			HaveField("Reason", v1.ReasonForbidden.String()), HaveField("Message", ContainSubstring(`resource "deployments"`)))))
	}).WithContext(ctx).Should(Succeed())
}
