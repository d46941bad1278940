package realcluster

import (
	"context"
	"os"
	"os/exec"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/cluster/kwok"
	"github.com/echo-operator/echo-operator/tests/support"
)

// HollowLabel is the key of the label and the taint on nodes without a kubelet. The label's value is different for each node.
const HollowLabel = "echo-operator-test/hollow"

// OnHollowNode makes an Echo's pods run on the hollow node with the given label value.
func OnHollowNode(label string) func(*v1.Echo) {
	return func(e *v1.Echo) {
		e.Spec.NodeSelector = map[string]v1.LabelValue{HollowLabel: v1.LabelValue(label)}
		e.Spec.Tolerations = []corev1.Toleration{{Key: HollowLabel, Operator: corev1.TolerationOpExists}}
	}
}

// CreateHollowNode creates a node that kwok simulates. The node accepts only pods that tolerate its taint. CreateHollowNode waits until the
// node is ready, and deletes the node after the test.
func CreateHollowNode(ctx context.Context, c client.Client, label string) string {
	GinkgoHelper()
	plenty := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10k"), corev1.ResourceMemory: resource.MustParse("10Ti"),
		corev1.ResourcePods: resource.MustParse("10k")}
	name := "hollow-" + utilrand.String(5)
	node := &corev1.Node{
		Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		Labels: map[string]string{HollowLabel: label, corev1.LabelOSStable: "linux", corev1.LabelHostname: name}, // as a kubelet sets them
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: HollowLabel, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: plenty, Allocatable: plenty},
	}
	Expect(c.Create(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(c.Delete(ctx, node))).To(Succeed()) }, NodeTimeout(2*time.Minute))
	Kubectl(ctx, "wait", "--for=condition=Ready", "node/"+name, "--timeout=3m")
	return name
}

// StartHollowKubelet starts kwok, which stands in for the kubelet on hollow nodes. kwok stops at the end of the test.
func StartHollowKubelet(ctx context.Context) *gexec.Session {
	GinkgoHelper()
	arguments, err := kwok.Arguments(ctx, support.Root(), os.Getenv("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	session, err := gexec.Start(exec.CommandContext(context.WithoutCancel(ctx), "kwok", arguments...), GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred(), "run the suite with its make target, which builds kwok")
	DeferCleanup(func() { session.Kill().Wait() })
	return session
}

// WebPod returns an application's pod, which stops immediately on SIGTERM. Given an Echo's name, the pod requests a companion from it.
func WebPod(namespace, name, echo string) *corev1.Pod {
	labels := map[string]string{"app": "web"}
	if echo != "" {
		labels[v1.CompanionLabel] = echo
	}
	return &corev1.Pod{
		Namespace: namespace, Name: name, Labels: labels,
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "web", Image: Image("echo-server"), Env: []corev1.EnvVar{{Name: "ECHO_DRAIN_DELAY", Value: "0s"}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
		},
	}
}
