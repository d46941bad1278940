package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/openshift"
)

var _ = Describe("the stand-in for the security context constraint restricted-v2", func() {
	It("accepts the operator's pod", func(ctx SpecContext) {
		admin := newClient(startAPIServer().Config)
		policies, err := openshift.RestrictedV2()
		Expect(err).NotTo(HaveOccurred())
		for _, policy := range policies {
			err := admin.Create(ctx, policy)
			if meta.IsNoMatchError(err) {
				Skip("the API server has no " + policy.GetKind())
			}
			Expect(err).NotTo(HaveOccurred())
		}
		_, text, _ := strings.Cut(support.Read("config/manager/manager.yaml"), "\n---\n") // the first object in the file is the namespace
		deployment := &appsv1.Deployment{}
		Expect(yaml.UnmarshalStrict([]byte(text), deployment)).To(Succeed())
		template := deployment.Spec.Template
		create := func(change func(*corev1.PodSpec)) (*corev1.Pod, error) {
			pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: *template.Spec.DeepCopy()}
			pod.Namespace, pod.GenerateName = "default", "pod-"
			change(&pod.Spec)
			return pod, admin.Create(ctx, pod, client.DryRunAll)
		}
		Eventually(func() error { // the API server takes a moment to enforce the policies
			_, err := create(func(p *corev1.PodSpec) { p.HostPID = true })
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring("restricted-v2")))
		Eventually(func() (*corev1.Pod, error) { return create(func(*corev1.PodSpec) {}) }).WithContext(ctx).
			Should(HaveField("Annotations", HaveKeyWithValue("openshift.io/scc", "restricted-v2")))
	}, SpecTimeout(specTimeout))
})
