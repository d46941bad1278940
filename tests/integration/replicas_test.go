package integration

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the number of replicas", func() {
	It("can be changed through the scale subresource", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "scaled"))
		scale := &autoscalingv1.Scale{}
		Expect(k8s.SubResource("scale").Get(ctx, echo, scale)).To(Succeed())
		Expect(scale.Status.Replicas).To(BeEquivalentTo(2))
		Expect(scale.Status.Selector).To(Equal(echo.Status.Selector))
		Expect(kubectl(ctx, "scale", "echo", "scaled", "-n", echo.Namespace, "--replicas=5")).To(ContainSubstring("scaled"))
		support.EventuallyObject(ctx, k8s, named(&appsv1.Deployment{}, echo)).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(5))))
		expectPhase(ctx, echo, v1.PhaseUpdating)
		rollOut(ctx, echo.Namespace, echo.Name)
	})
})

// echoManifest returns the manifest of an Echo.
func echoManifest(namespace, name, spec string) string {
	return "{apiVersion: example.com/v1, kind: Echo, metadata: {namespace: " + namespace + ", name: " + name + "}, spec: " + spec + "}"
}

// kubectlInput runs kubectl with the given standard input. The test fails if kubectl fails.
func kubectlInput(ctx context.Context, stdin string, arguments ...string) {
	GinkgoHelper()
	command := kubectlCommand(ctx, arguments...)
	command.Stdin = strings.NewReader(stdin)
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}
