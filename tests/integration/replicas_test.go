package integration

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		scaleByKubectl(ctx, echo.Namespace, echo.Name, 5)
		expectPhase(ctx, echo, v1.PhaseUpdating)
		rollOut(ctx, echo.Namespace, echo.Name)
	})

	It("determines whether there is a PodDisruptionBudget", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "protected"))
		budget := named(&policyv1.PodDisruptionBudget{}, echo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(budget), budget)).To(Succeed())
		scaleByKubectl(ctx, echo.Namespace, echo.Name, 1)
		eventuallyGone(ctx, k8s, budget)
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.DisruptionBudget.MaxUnavailable = new(int32(0)) })
		support.EventuallyObject(ctx, k8s, named(&policyv1.PodDisruptionBudget{}, echo)).Should(
			HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(0)))))
	})

	It("keeps an autoscaler's value when a manifest without replicas is applied again", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for name, flags := range map[string][]string{"client": nil, "server": {"--server-side"}} {
			apply(ctx, namespace, name, "{}", flags...)
			scaleByKubectl(ctx, namespace, name, 3)
			apply(ctx, namespace, name, "{port: 8081}", flags...)
			Expect(echoNow(ctx, Default, namespace, name).Spec.Replicas).To(HaveValue(BeEquivalentTo(3)), name)
		}
	})

	It("moves from a manifest to an autoscaler with the documented steps, without changing", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for name, flags := range map[string][]string{"client": nil, "server": {"--server-side"}} {
			apply(ctx, namespace, name, "{replicas: 3}", flags...)
			scaleByKubectl(ctx, namespace, name, 4)
			if flags == nil {
				kubectlInput(ctx, echoManifest(namespace, name, "{}"), "apply", "set-last-applied", "-f", "-")
			}
			apply(ctx, namespace, name, "{}", flags...)
			Expect(echoNow(ctx, Default, namespace, name).Spec.Replicas).To(HaveValue(BeEquivalentTo(4)), name)
		}
	})
})

// echoManifest returns the manifest of an Echo.
func echoManifest(namespace, name, spec string) string {
	return "{apiVersion: example.com/v1, kind: Echo, metadata: {namespace: " + namespace + ", name: " + name + "}, spec: " + spec + "}"
}

// apply applies an Echo's manifest with kubectl.
func apply(ctx context.Context, namespace, name, spec string, flags ...string) {
	GinkgoHelper()
	kubectlInput(ctx, echoManifest(namespace, name, spec), append([]string{"apply", "--validate=strict", "-f", "-"}, flags...)...)
}

// kubectlInput runs kubectl with the given standard input. The test fails if kubectl fails.
func kubectlInput(ctx context.Context, stdin string, arguments ...string) {
	GinkgoHelper()
	command := kubectlCommand(ctx, arguments...)
	command.Stdin = strings.NewReader(stdin)
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}

// scaleByKubectl scales an Echo with kubectl, and waits until its Deployment has the given number of replicas.
func scaleByKubectl(ctx context.Context, namespace, name string, replicas int32) {
	GinkgoHelper()
	Expect(kubectl(ctx, "scale", "echo", name, "-n", namespace, fmt.Sprintf("--replicas=%d", replicas))).To(ContainSubstring("scaled"))
	Eventually(func(g Gomega) {
		g.Expect(deploymentNow(ctx, g, namespace, name).Spec.Replicas).To(HaveValue(Equal(replicas)))
	}).
		WithContext(ctx).Should(Succeed())
}
