package integration

import (
	"bytes"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/echo-operator/echo-operator/tests/support/openshift"
)

// The OLM suite uses the stand-in for all pods. These specs test the stand-in itself.
var _ = Describe("the stand-in for the security context constraint restricted-v2", Ordered, func() {
	var admin client.Client
	create := func(ctx SpecContext, change func(*corev1.PodSpec)) (*corev1.Pod, error) {
		pod := &corev1.Pod{Namespace: "default", GenerateName: "pod-",
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}}}
		change(&pod.Spec)
		return pod, admin.Create(ctx, pod, client.DryRunAll)
	}

	BeforeAll(func(ctx SpecContext) {
		admin = newClient(startAPIServer().Config)
		policies, err := openshift.RestrictedV2()
		Expect(err).NotTo(HaveOccurred())
		for _, policy := range policies {
			err := admin.Create(ctx, policy)
			if meta.IsNoMatchError(err) {
				Skip("the API server has no " + policy.GetKind())
			}
			Expect(err).NotTo(HaveOccurred())
		}
		Eventually(func() (*corev1.Pod, error) { return create(ctx, func(*corev1.PodSpec) {}) }).WithContext(ctx).
			Should(HaveField("Annotations", HaveKeyWithValue("openshift.io/scc", "restricted-v2")))
		Eventually(func() error {
			_, err := create(ctx, func(p *corev1.PodSpec) { p.HostPID = true })
			return err
		}).WithContext(ctx).Should(HaveOccurred())
	}, NodeTimeout(specTimeout))

	It("assigns a user, a group, a seccomp profile and no capabilities", func(ctx SpecContext) {
		pod, err := create(ctx, func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "first", Image: "first", SecurityContext: &corev1.SecurityContext{
				Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}}}}}
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(pod.Spec.SecurityContext.FSGroup).To(HaveValue(BeEquivalentTo(1000660000)))
		Expect(pod.Spec.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
		for _, container := range append(pod.Spec.Containers, pod.Spec.InitContainers...) {
			Expect(container.SecurityContext.RunAsUser).To(HaveValue(BeEquivalentTo(1000660000)), container.Name)
			Expect(container.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()), container.Name)
			Expect(container.SecurityContext.AllowPrivilegeEscalation).To(HaveValue(BeFalse()), container.Name)
			Expect(container.SecurityContext.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")), container.Name)
		}
		Expect(pod.Spec.InitContainers[0].SecurityContext.Capabilities.Add).To(ConsistOf(corev1.Capability("NET_BIND_SERVICE")))
	}, SpecTimeout(specTimeout))

	It("accepts the operator's pod", func(ctx SpecContext) {
		text, err := os.ReadFile(filepath.Join(configFolder, "manager", "manager.yaml"))
		Expect(err).NotTo(HaveOccurred())
		_, text, _ = bytes.Cut(text, []byte("\n---\n")) // the first object in the file is the namespace
		deployment := &appsv1.Deployment{}
		Expect(yaml.UnmarshalStrict(text, deployment)).To(Succeed())
		template := deployment.Spec.Template
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Namespace, pod.GenerateName = "default", "pod-"
		Expect(admin.Create(ctx, pod, client.DryRunAll)).To(Succeed())
	}, SpecTimeout(specTimeout))

	DescribeTable("refuses", func(ctx SpecContext, message string, change func(*corev1.PodSpec, *corev1.SecurityContext)) {
		_, err := create(ctx, func(p *corev1.PodSpec) {
			p.SecurityContext, p.Containers[0].SecurityContext = &corev1.PodSecurityContext{}, &corev1.SecurityContext{}
			change(p, p.Containers[0].SecurityContext)
		})
		Expect(err).To(MatchError(ContainSubstring("provider restricted-v2: " + message)))
	},
		Entry("root", SpecTimeout(specTimeout), "runAsUser", func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.RunAsUser = new(int64(0)) }),
		Entry("a fixed user", SpecTimeout(specTimeout), "runAsUser",
			func(p *corev1.PodSpec, _ *corev1.SecurityContext) { p.SecurityContext.RunAsUser = new(int64(10001)) }),
		Entry("a fixed group", SpecTimeout(specTimeout), "fsGroup",
			func(p *corev1.PodSpec, _ *corev1.SecurityContext) { p.SecurityContext.FSGroup = new(int64(10001)) }),
		Entry("a privileged container", SpecTimeout(specTimeout), "privileged",
			func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
				c.Privileged, c.AllowPrivilegeEscalation = new(true), new(true)
			}),
		Entry("more privileges", SpecTimeout(specTimeout), "allowPrivilegeEscalation",
			func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.AllowPrivilegeEscalation = new(true) }),
		Entry("a capability", SpecTimeout(specTimeout), "capabilities.add",
			func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
				c.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}
			}),
		Entry("no seccomp profile", SpecTimeout(specTimeout), "seccomp", func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
			c.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}),
		Entry("an unsafe sysctl", SpecTimeout(specTimeout), "securityContext.sysctls", func(p *corev1.PodSpec, _ *corev1.SecurityContext) {
			p.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}}
		}),
		Entry("the network of the node", SpecTimeout(specTimeout), "hostNetwork",
			func(p *corev1.PodSpec, _ *corev1.SecurityContext) { p.HostNetwork = true }),
		Entry("a port of the node", SpecTimeout(specTimeout), "hostPort", func(p *corev1.PodSpec, _ *corev1.SecurityContext) {
			p.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
		}),
		Entry("a directory of the node", SpecTimeout(specTimeout), "volumes", func(p *corev1.PodSpec, _ *corev1.SecurityContext) {
			p.Volumes = []corev1.Volume{{Name: "x", HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}
		}),
	)
})
