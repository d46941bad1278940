package olm

import (
	"context"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// consoleSamples is a template that prints the name, the kinds of the owners, and the title of each OpenShift console sample.
const consoleSamples = `{range .items[*]}{.metadata.name} {.metadata.ownerReferences[*].kind} {.spec.title}{"\n"}{end}`

var _ = Describe("the operator in OLM", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		realcluster.Kubectl(ctx, "apply", "--server-side", "-f", support.OpenShiftCRDs(ctx, "console", ""))
		DeferCleanup(func(ctx SpecContext) {
			realcluster.Kubectl(ctx, "delete", "--ignore-not-found", "-f", support.OpenShiftCRDs(ctx, "console", ""))
		}, NodeTimeout(2*time.Minute))
	}, NodeTimeout(2*time.Minute))

	It("is installed from a catalog by a Subscription", Label("scorecard"), func(ctx SpecContext) {
		publish(ctx, version(0))
		run(ctx, changed(realcluster.Documented(version(0), installPage, "## With OLM, from a catalog"), "interval: 30m", "interval: 15s"))
		expectSucceeded(ctx, version(0))
		Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("get", "packagemanifests").Should(ContainSubstring("Echo Operator"))
	}, SpecTimeout(10*time.Minute))

	It("runs an Echo that responds", func(ctx SpecContext) {
		realcluster.CreateSample(ctx, "default")
		realcluster.AwaitSample(ctx, "default")
		seen := realcluster.StartProber(ctx, "default", "http://test-echo.default.svc", "--count=200", "--pods=2").Finish(ctx)
		Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
		Expect(seen.Pods).To(HaveLen(2))
	}, SpecTimeout(10*time.Minute))

	// The operator's Deployment must remain Available while only one replica is running.
	It("stays Succeeded while each replica of the operator is replaced", func(ctx SpecContext) {
		versions := &unstructured.UnstructuredList{}
		versions.SetAPIVersion("operators.coreos.com/v1alpha1")
		versions.SetKind("ClusterServiceVersionList")
		phases := support.Record(ctx, k8s, versions, phaseOf, client.InNamespace(operatorNamespace))
		numbers := support.Record(ctx, k8s, &appsv1.DeploymentList{}, func(d *appsv1.Deployment) int32 { return d.Status.AvailableReplicas },
			client.InNamespace(operatorNamespace))
		for pod := range strings.FieldsSeq(kubectl(ctx, "get", "pods", "-l", "control-plane=controller-manager", "-o", "name")) {
			kubectl(ctx, "delete", pod, waitTimeout)
			kubectl(ctx, "rollout", "status", "deployment/echo-operator-controller-manager", waitTimeout)
		}
		Expect(numbers()).To(And(ContainElement(int32(1)), HaveEach(BeNumerically(">", 0))))
		Expect(phases()).To(HaveEach("Succeeded"))
		Expect(kubectl(ctx, "get", "csv", "-o", "jsonpath={.items[*].status.conditions[*].phase}")).NotTo(ContainSubstring("Failed"))
	}, SpecTimeout(10*time.Minute))

	It("adds samples and a quick start to the OpenShift console", func(ctx SpecContext) {
		Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("get", "consolequickstarts", "-o",
			"name").Should(ContainSubstring("echo-operator-first-echo"))
		Expect(strings.Split(strings.TrimSpace(realcluster.Kubectl(ctx, "get", "consoleyamlsamples", "-o", "jsonpath="+consoleSamples)), "\n")).
			To(And(ContainElement("echo-operator-example-full ClusterRole Most fields"), HaveEach(ContainSubstring(" ClusterRole "))))
	}, SpecTimeout(5*time.Minute))

	It("runs under the security context constraint restricted-v2, and reports an Echo that does not comply with it", func(ctx SpecContext) {
		for namespace, selector := range map[string]string{operatorNamespace: "control-plane=controller-manager",
			"default": realcluster.SampleSelector,
			"olm":     "olm.catalogSource=echo-operator"} {
			Expect(strings.Fields(realcluster.Kubectl(ctx, "get", "pods", "-n", namespace, "-l", selector, "-o",
				`jsonpath={range .items[*]}{.metadata.annotations.openshift\.io/scc}/{.spec.containers[0].securityContext.runAsUser} {end}`))).
				To(And(Not(BeEmpty()), HaveEach("restricted-v2/1000660000")), selector)
		}
		realcluster.KubectlInput(ctx, `{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"name": "echo-fixed-user", "namespace": "default"},
			"spec": {"replicas": 1, "podSecurityContext": {"runAsNonRoot": true, "runAsUser": 10001}}}`, "apply", "-f", "-")
		realcluster.Kubectl(ctx, "wait", "-n", "default", "--for=jsonpath={.status.phase}=Warning", "echo/echo-fixed-user", waitTimeout)
		Expect(realcluster.Kubectl(ctx, "get", "-n", "default", "echo/echo-fixed-user", "-o", "jsonpath={.status.message}")).
			To(And(ContainSubstring("ValidatingAdmissionPolicy 'restricted-v2'"),
				ContainSubstring("runAsUser: Invalid value: must be in the ranges: [1000660000, 1000669999]")))
		realcluster.Kubectl(ctx, "delete", "-n", "default", "echo/echo-fixed-user")
	}, SpecTimeout(5*time.Minute))

	// The OpenShift console opens its editor with the first example, which must therefore not contain a status.
	It("passes scorecard, with the missing status of the first example as the only suggestion", Label("scorecard"), func(ctx SpecContext) {
		command := exec.CommandContext(ctx, "tests/olm/run-scorecard", realcluster.ReleasedFile(version(0), "bundle"))
		command.Dir = "../.."
		output, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
		tests := strings.Count(support.Read(realcluster.ReleasedFile(version(0), "bundle/tests/scorecard/config.yaml")), "entrypoint:")
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		Expect(lines).To(SatisfyAll(HaveLen(tests+1),
			HaveEach(Or(HavePrefix("pass "), MatchRegexp(`^suggestion:\s*echoes.example.com does not have status spec\.`)))))
	}, SpecTimeout(20*time.Minute))

	// A Subscription cannot set the number of replicas. When the Subscription's settings change, OLM restores the number from the bundle.
	It("takes its settings from the Subscription", func(ctx SpecContext) {
		number := func(ctx context.Context) (string, error) {
			return tryKubectl(ctx, "get", "deployment/echo-operator-controller-manager", "-o", "jsonpath={.spec.replicas}")
		}
		kubectl(ctx, "scale", "deployment/echo-operator-controller-manager", "--replicas=1")
		Consistently(number).WithContext(ctx).WithTimeout(10 * time.Second).Should(Equal("1"))
		run(ctx, realcluster.Documented(version(0), installPage, "OLM restarts the operator when these settings change"))
		Eventually(tryKubectl).WithContext(ctx).WithArguments("get", "pods", "-l", "control-plane=controller-manager", "-o",
			"yaml").Should(SatisfyAll(
			MatchRegexp(`name: MAX_REPLICAS\s+value: "3"`), MatchRegexp(`cpu: 20m\s+memory: 128Mi`),
			MatchRegexp(`nodeSelector:\s+kubernetes.io/os: linux`)))
		kubectl(ctx, "rollout", "status", "deployment/echo-operator-controller-manager", waitTimeout)
		Expect(number(ctx)).To(Equal("2"))
	}, SpecTimeout(10*time.Minute))

	It("is upgraded automatically from a catalog, and upgrades the echo servers, without dropping requests", func(ctx SpecContext) {
		before := realcluster.SamplePods(ctx)
		image, err := realcluster.SampleImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		prober := realcluster.ProbeSample(ctx)
		// These commands give the first version a sample with a different title, and a sample that the second version lacks.
		run(ctx, `kubectl patch consoleyamlsample echo-operator-example-full --type=merge -p '{"spec": {"title": "Old"}}'
			kubectl get consoleyamlsample echo-operator-example-full -o yaml | sed 's/^  name: .*/  name: echo-operator-dropped/' | kubectl create -f -`)
		publish(ctx, version(1))
		expectSucceeded(ctx, version(1))
		realcluster.AwaitSampleImage(ctx, And(HavePrefix("quay.io/echo-operator/echo-server@"), Not(Equal(image))))
		Eventually(func(ctx context.Context) []string { return strings.Fields(realcluster.SamplePods(ctx)) }).WithContext(ctx).
			Should(SatisfyAll(HaveLen(2), Not(ContainElement(BeElementOf(strings.Fields(before))))), "the old pods must have drained")
		seen := prober.Stop(ctx)
		Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
		Expect(len(seen.Pods)).To(BeNumerically(">", 2), "pods of both versions must have responded")
		samples := func(ctx context.Context) (string, error) {
			return realcluster.TryKubectl(ctx, "get", "consoleyamlsamples", "-o", "jsonpath="+consoleSamples)
		}
		Eventually(samples).WithContext(ctx).
			Should(And(ContainSubstring("echo-operator-example-full ClusterRole"), Not(ContainSubstring("echo-operator-dropped")),
				Not(ContainSubstring("Old"))))
		Consistently(samples).WithContext(ctx).WithTimeout(20*time.Second).
			Should(ContainSubstring("echo-operator-example-full ClusterRole"),
				"the new operator must own the samples when the old operator's ClusterRole is deleted")
	}, SpecTimeout(10*time.Minute))

	It("is uninstalled without leaving anything behind", Label("scorecard"), func(ctx SpecContext) {
		uninstall(ctx)
		Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("get", "consoleyamlsamples,consolequickstarts", "-o",
			"name").Should(BeEmpty())
	}, SpecTimeout(10*time.Minute))
})

// phaseOf returns a ClusterServiceVersion's phase.
func phaseOf(csv *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(csv.Object, "status", "phase")
	return phase
}
