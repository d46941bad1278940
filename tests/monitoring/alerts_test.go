package monitoring

import (
	"context"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// policy stands in for a cluster's admission policies: it rejects Deployments whose names begin with "denied".
const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: echo-operator-test, labels: {echo-operator-test: "true"}}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - {expression: "!object.metadata.name.startsWith('denied')", message: "not on this cluster"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: echo-operator-test, labels: {echo-operator-test: "true"}}
spec: {policyName: echo-operator-test, validationActions: [Deny]}
`

var _ = Describe("Prometheus", Ordered, func() {
	var p realcluster.Prometheus
	var namespace string
	healthy := func() *v1.Echo { return support.Echo(namespace, "healthy", monitored) }
	names := func(g Gomega, ctx context.Context) []string { return slices.Sorted(maps.Keys(p.Firing(ctx, g))) }

	BeforeAll(func(ctx SpecContext) {
		p, namespace = realcluster.InstallPrometheus(ctx, namespaces.New(ctx)), namespaces.New(ctx)
		restartOperator(ctx) // the operator checks only at startup whether the cluster serves the Prometheus Operator API
	}, NodeTimeout(10*time.Minute))

	It("reads the metrics of the operator, of echo servers and of companions", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, healthy())).To(Succeed())
		Expect(k8s.Create(ctx, realcluster.WebPod(namespace, "web", "healthy"))).To(Succeed())
		Eventually(func(g Gomega) {
			up := map[string]int{}
			for _, t := range p.Targets(ctx, g) {
				g.Expect(t.Health).To(Equal("up"), "%v: %s", t.Labels, t.LastError)
				up[t.Labels["job"]]++
			}
			g.Expect(up).To(Equal(map[string]int{"echo-operator": 2, "healthy": 3}))
		}).WithContext(ctx).Should(Succeed())
		Expect(names(Default, ctx)).To(BeEmpty())
	}, SpecTimeout(10*time.Minute))

	It("fires the alerts when their problems occur, and all dashboard queries have data", func(ctx SpecContext) {
		realcluster.KubectlInput(ctx, policy, "apply", "-f", "-")
		Eventually(func() error { // the API server takes a moment to enforce a policy
			_, err := realcluster.TryKubectl(ctx, "create", "deployment", "denied", "-n", namespace, "--image=none", "--dry-run=server")
			return err
		}).WithContext(ctx).ShouldNot(Succeed())
		Expect(k8s.Create(ctx, support.Echo(namespace, "denied"))).To(Succeed())
		Expect(k8s.Create(ctx, support.Echo(namespace, "no-image", func(e *v1.Echo) { e.Spec.Image = "quay.io/echo-operator/missing:v1" }))).To(
			Succeed())
		Expect(k8s.Create(ctx, realcluster.WebPod(namespace, "lonely", "nobody"))).To(Succeed())
		expiring := support.Echo(namespace, "expiring", monitored, func(e *v1.Echo) { e.Spec.TLS = &v1.EchoTLS{SecretName: "expiring"} })
		applyCertificate(ctx, expiring, 24*time.Hour)
		Expect(k8s.Create(ctx, expiring)).To(Succeed())
		for _, path := range []string{"/", "/?echo.status=503", "/?echo.body=much"} {
			prober := realcluster.StartProber(ctx, namespace, "http://healthy."+namespace+".svc"+path, "--count=1000000", "--interval=1s",
				"--duration=2h")
			DeferCleanup(prober.Stop, NodeTimeout(time.Minute))
		}
		Eventually(names).WithArguments(ctx).WithContext(ctx).WithTimeout(alertTimeout).WithPolling(10 * time.Second).Should(ConsistOf(
			"EchoNotReady", "EchoOperatorReconcileErrors", "EchoCompanionMissing", "EchoCertificateExpiresSoon"))
		for _, a := range p.Firing(ctx, Default) {
			Expect(a.Annotations).To(HaveKeyWithValue("runbook_url", HaveSuffix("/docs/runbooks/"+a.Labels["alertname"]+".md")))
			AddReportEntry(a.Labels["alertname"], a.Annotations["summary"])
		}
		Expect(k8s.Patch(ctx, healthy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"podAnnotations":{"changed":"now"}}}`)))).To(
			Succeed())
		Eventually(func(g Gomega) { g.Expect(withoutData(ctx, g, p)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
	}, SpecTimeout(45*time.Minute))

	It("resolves the alerts when the problems are fixed", func(ctx SpecContext) {
		realcluster.Kubectl(ctx, "delete", "validatingadmissionpolicybindings", "echo-operator-test")
		realcluster.Kubectl(ctx, "delete", "pod", "-n", namespace, "lonely")
		noImage := &v1.Echo{Namespace: namespace, Name: "no-image"}
		Expect(k8s.Patch(ctx, noImage, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"image":null}}`)))).To(Succeed())
		applyCertificate(ctx, support.Echo(namespace, "expiring"), 90*24*time.Hour)
		Eventually(names).WithArguments(ctx).WithContext(ctx).WithTimeout(alertTimeout).WithPolling(10 * time.Second).Should(BeEmpty())
	}, SpecTimeout(45*time.Minute))

	It("fires if no replica is the leader, and if no replica exists", func(ctx SpecContext) {
		binding := &rbacv1.RoleBinding{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: "echo-operator-leader-election-rolebinding"}, binding)).To(
			Succeed())
		Expect(k8s.Delete(ctx, binding)).To(Succeed())
		restore := func(ctx SpecContext) {
			again := &rbacv1.RoleBinding{RoleRef: binding.RoleRef, Subjects: binding.Subjects,
				Namespace: binding.Namespace, Name: binding.Name, Labels: binding.Labels,
				Annotations: binding.Annotations}
			Expect(client.IgnoreAlreadyExists(k8s.Create(ctx, again))).To(Succeed())
		}
		DeferCleanup(restore, NodeTimeout(time.Minute))
		restartOperator(ctx)
		Eventually(names).WithArguments(ctx).WithContext(ctx).WithTimeout(alertTimeout).WithPolling(10 * time.Second).Should(
			ConsistOf("EchoOperatorNoLeader"))

		restore(ctx)
		Eventually(names).WithArguments(ctx).WithContext(ctx).WithTimeout(alertTimeout).WithPolling(10 * time.Second).Should(BeEmpty())

		realcluster.Kubectl(ctx, "scale", "-n", operatorNamespace, operatorDeployment, "--replicas=0")
		Eventually(names).WithArguments(ctx).WithContext(ctx).WithTimeout(alertTimeout).WithPolling(10 * time.Second).Should(
			ConsistOf("EchoOperatorDown"))
		realcluster.Kubectl(ctx, "scale", "-n", operatorNamespace, operatorDeployment, "--replicas=2")
		Eventually(names).WithArguments(ctx).WithContext(ctx).WithTimeout(alertTimeout).WithPolling(10 * time.Second).Should(BeEmpty())
	}, SpecTimeout(60*time.Minute))
})

func restartOperator(ctx context.Context) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "rollout", "restart", "-n", operatorNamespace, operatorDeployment)
	realcluster.Kubectl(ctx, "rollout", "status", "-n", operatorNamespace, operatorDeployment, waitTimeout)
}

func monitored(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: new(true)} }

// applyCertificate stores a certificate for an Echo in the Secret that has the Echo's name.
func applyCertificate(ctx context.Context, echo *v1.Echo, valid time.Duration) {
	GinkgoHelper()
	realcluster.ApplyCertificate(ctx, k8s, client.ObjectKeyFromObject(echo), valid, echo.Name+"."+echo.Namespace+".svc")
}
