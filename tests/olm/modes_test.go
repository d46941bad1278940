package olm

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// In the other specs, the operator watches all namespaces.
var _ = Describe("an OperatorGroup", Label("all"), func() {
	DescribeTable("with target namespaces", func(ctx SpecContext, targets ...string) {
		namespaces := []string{"echo-mine", "echo-theirs", "echo-others"}
		for _, namespace := range namespaces {
			realcluster.Kubectl(ctx, "create", "namespace", namespace)
		}
		run(ctx, changed(installation(version(0)), "spec: {}", "spec: {targetNamespaces: ["+strings.Join(targets, ", ")+"]}"))

		realcluster.CreateSample(ctx, "echo-others")
		for _, target := range targets {
			realcluster.CreateSample(ctx, target)
			realcluster.AwaitSample(ctx, target)
			Expect(mayCreateDeployments(ctx, target)).To(BeTrue(), target)
		}
		Expect(realcluster.Kubectl(ctx, "get", "echo/test-echo", "-n", "echo-others", "-o", "jsonpath={.status}{.metadata.finalizers}")).To(
			BeEmpty())
		Expect(mayCreateDeployments(ctx, "echo-others")).To(BeFalse())

		run(ctx, realcluster.Documented(version(0), installPage, "## Uninstalling with OLM"))
		realcluster.Kubectl(ctx, append([]string{"delete", "namespace", waitTimeout}, namespaces...)...)
		expectNothingLeft(ctx)
	},
		Entry("its own: OwnNamespace", SpecTimeout(15*time.Minute), operatorNamespace),
		Entry("another: SingleNamespace", SpecTimeout(15*time.Minute), "echo-mine"),
		Entry("two: MultiNamespace", SpecTimeout(15*time.Minute), "echo-mine", "echo-theirs"),
	)

	It("with its own namespace, whose deletion reports what it waits for, and completes as documented", func(ctx SpecContext) {
		run(ctx, changed(installation(version(0)), "spec: {}", "spec: {targetNamespaces: ["+operatorNamespace+"]}"))
		realcluster.KubectlInput(ctx, checkedEcho, "apply", "-n", operatorNamespace, "-f", "-")
		realcluster.AwaitSample(ctx, operatorNamespace)
		kubectl(ctx, "run", "owner", "--image=quay.io/echo-operator/echo-server:v"+version(0), "--labels=echoes.example.com/companion=test-echo")
		kubectl(ctx, "wait", "--for=condition=Ready", "pod/owner", waitTimeout)
		Eventually(tryKubectl).WithContext(ctx).WithArguments("get", "pods", "-o", "name",
			"-l", "app.kubernetes.io/managed-by=echo-operator,app.kubernetes.io/name=echo-companion").Should(HavePrefix("pod/owner-echo-"))

		realcluster.Kubectl(ctx, "delete", "namespace", operatorNamespace, "--wait=false")
		Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("get", "namespace", operatorNamespace, "-o",
			`jsonpath={.status.conditions[?(@.type=="NamespaceFinalizersRemaining")].message}`).
			Should(ContainSubstring("echoes.example.com/finalizer in 1 resource instances"))
		Eventually(tryKubectl).WithContext(ctx).WithArguments("get", "pods", "-o", "name").Should(BeEmpty(), "no pod may continue to run")
		run(ctx, changed(realcluster.Documented(version(0), installPage, "If you cannot create a RoleBinding"), "my-namespace", operatorNamespace))
		realcluster.Kubectl(ctx, "wait", "--for=delete", "namespace/"+operatorNamespace, waitTimeout)
	}, SpecTimeout(15*time.Minute))
})

// checkedEcho is the manifest of an Echo with a check and many kinds of children.
const checkedEcho = `{apiVersion: example.com/v1, kind: Echo, metadata: {name: test-echo}, spec: {replicas: 2, networkPolicy: {enabled: true},
  ingress: {enabled: true, host: echo.example.com}, checks: [{name: path, schedule: "* * * * *", groups: [body], deadlineSeconds: 20}]}}`

func mayCreateDeployments(ctx context.Context, namespace string) bool {
	GinkgoHelper()
	output, _ := realcluster.TryKubectl(ctx, "auth", "can-i", "create", "deployments", "-n", namespace,
		"--as=system:serviceaccount:"+operatorNamespace+":echo-operator-controller-manager") // kubectl exits with code 1 if it prints "no"
	Expect(output).To(BeElementOf("yes\n", "no\n"))
	return output == "yes\n"
}
