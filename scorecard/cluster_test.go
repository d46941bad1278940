package main

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

var _ = Describe("with a bundle and the operator that it installs,", func() {
	// test runs a test as scorecard does.
	test := func(ctx context.Context, name string, b bundle.Bundle) ([]string, error) {
		c := scorecard(ctx)
		problems, err := c.run(ctx, name, b)
		GinkgoWriter.Println(c.log.String())
		return problems, err
	}

	AfterEach(func(ctx SpecContext) {
		left := &v1.EchoList{}
		Expect(admin.List(ctx, left)).To(Succeed())
		Expect(left.Items).To(BeEmpty(), "a test must leave nothing")
	}, NodeTimeout(10*time.Second))

	for _, name := range []string{"examples", "permissions", "restricted"} {
		It(name+" pass", func(ctx SpecContext) {
			Expect(test(ctx, name, own)).To(BeEmpty())
		}, SpecTimeout(time.Minute))
	}

	It("examples that are refused, or of no known kind, are told", func(ctx SpecContext) {
		b := withExamples(`[{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"name": "a"}, "spec": {"replicas": 1, "nonsense": 1}},
			{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}]`)
		Expect(test(ctx, "examples", b)).To(ConsistOf(ContainSubstring(`unknown field "spec.nonsense"`), ContainSubstring("example b: it is a")))
	}, SpecTimeout(time.Minute))

	It("an example that does not become Ready is told, with the reason, and goes", func(ctx SpecContext) {
		b := withExamples(`[{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"name": "a"}, "spec": {"replicas": 999}}]`)
		c := scorecard(ctx)
		c.patience = 2 * time.Second
		Expect(c.run(ctx, "examples", b)).To(ConsistOf(And(ContainSubstring("is not Ready"), ContainSubstring("this operator allows at most"))))
	}, SpecTimeout(time.Minute))

	It("a permission that is listed and neither given nor used is told", func(ctx SpecContext) {
		b := own
		b.CSV.Spec.Install.Spec.Permissions = []bundle.Permissions{own.CSV.Spec.Install.Spec.Permissions[0]}
		rules := &b.CSV.Spec.Install.Spec.Permissions[0].Rules
		*rules = append((*rules)[:len(*rules):len(*rules)], rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create"}})
		Expect(test(ctx, "permissions", b)).To(ConsistOf(ContainSubstring("may not create jobs.batch"), ContainSubstring("may create jobs.batch, but there is no trace")))
	}, SpecTimeout(time.Minute))

	It("a dangerous permission that the cluster gives is told", func(ctx SpecContext) {
		grantOperator(ctx, "dangerous", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create"}})
		problems, err := test(ctx, "permissions", own)
		Expect(err).NotTo(HaveOccurred())
		Expect(problems).To(HaveEach(ContainSubstring("may create pods/exec")))
		Expect(problems).To(HaveLen(3), "in all namespaces, and in two")
	}, SpecTimeout(time.Minute))

	It("an operator that is not there is told", func(ctx SpecContext) {
		b := own
		another := own.CSV.Spec.Install.Spec.Deployments[0]
		another.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "another"}}
		b.CSV.Spec.Install.Spec.Deployments = []bundle.Deployment{another}
		for _, name := range []string{"permissions", "restricted"} {
			_, err := test(ctx, name, b)
			Expect(err).To(MatchError(ContainSubstring("the operator is not installed")))
		}
	}, SpecTimeout(time.Minute))

	It("a test that is told to end leaves nothing", func(ctx SpecContext) {
		c := scorecard(ctx)
		ending, end := context.WithCancel(ctx)
		Expect(c.Create(ctx, plainEcho(scorecardNamespace))).To(Succeed())
		end()
		left := &v1.EchoList{}
		Expect(admin.List(ctx, left)).To(Succeed())
		Expect(c.remove(ending, &left.Items[0])).To(Succeed())
	}, SpecTimeout(time.Minute))
})

func withExamples(examples string) bundle.Bundle {
	b := own
	b.CSV.Metadata.Annotations = map[string]string{"alm-examples": examples}
	return b
}
