package e2e

import (
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("the sample", func() {
	// apply applies a sample in a new namespace, as a user would, and waits until its Echo is ready.
	apply := func(ctx SpecContext, file, name string) *v1.Echo {
		GinkgoHelper()
		namespace := namespaces.New(ctx)
		if name == "echo-hello" { // this sample requires root
			realcluster.Kubectl(ctx, "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=baseline", "--overwrite")
		}
		realcluster.Kubectl(ctx, "apply", "--validate=strict", "-n", namespace, "-f", filepath.Join("../../config/samples", file))
		echo := &v1.Echo{Namespace: namespace, Name: name}
		waitReady(ctx, echo)
		return echo
	}

	It("full responds as specified", func(ctx SpecContext) {
		echo := apply(ctx, "v1_echo_full.yaml", "echo-full")
		Expect(echo.Status.ReadyReplicas).To(BeEquivalentTo(3))
		Expect(echo.Status.URL).To(HaveSuffix(".svc:8080"))
		seen := probe(ctx, echo, "--count=20", "--status=202")
		Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
		pod := pods(ctx, Default, echo)[0]
		Expect(pod.Labels).To(HaveKeyWithValue("example.com/tier", "tools"))
		Expect(pod.Spec.Tolerations).To(ContainElement(HaveField("TolerationSeconds", HaveValue(BeEquivalentTo(30)))))
	}, SpecTimeout(8*time.Minute))

	It("hello runs an image that requires root and port 80", func(ctx SpecContext) {
		echo := apply(ctx, "v1_echo_hello.yaml", "echo-hello")
		Expect(pods(ctx, Default, echo)[0].Spec.Containers[0].Image).To(Equal("docker.io/nginxdemos/hello:0.3-plain-text"))
		seen := probe(ctx, echo, "--count=20", "--text")
		Expect(seen.Failed).To(BeZero(), "%v", seen.Errors)
	}, SpecTimeout(8*time.Minute))

	It("tls serves HTTPS with the certificate of its Secret, which is created later", func(ctx SpecContext) {
		namespace := namespaces.New(ctx)
		realcluster.Kubectl(ctx, "apply", "--validate=strict", "-n", namespace, "-f", "../../config/samples/v1_echo_tls.yaml")
		certificate, key, err := cert.GenerateSelfSignedCertKey("echo-tls."+namespace+".svc", nil, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, &corev1.Secret{Namespace: namespace, Name: "echo-tls", Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}})).To(Succeed())
		echo := &v1.Echo{Namespace: namespace, Name: "echo-tls"}
		waitReady(ctx, echo)
		service := &corev1.Service{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), service)).To(Succeed())
		Expect(service.Spec.Ports).To(ContainElement(And(HaveField("Name", "https"), HaveField("Port", BeEquivalentTo(443)))))
	}, SpecTimeout(8*time.Minute))

	DescribeTable("is ready", func(ctx SpecContext, file, name string) {
		Expect(apply(ctx, file, name).Status.ReadyReplicas).To(BeEquivalentTo(2))
	},
		Entry("faults, although it delays most requests and lets some fail", "v1_echo_faults.yaml", "echo-faults", SpecTimeout(8*time.Minute)),
		Entry("grpc", "v1_echo_grpc.yaml", "echo-grpc", SpecTimeout(8*time.Minute)),
	)

	It("ingress has an Ingress, and the URL contains the Ingress's host", func(ctx SpecContext) {
		echo := apply(ctx, "v1_echo_ingress.yaml", "echo-ingress")
		Expect(echo.Status.ExternalURL).To(Equal("https://echo.apps.example.com"))
		ingress := &networkingv1.Ingress{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), ingress)).To(Succeed())
		service := &corev1.Service{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), service)).To(Succeed())
		Expect(ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service).To(HaveField("Name", service.Name))
	}, SpecTimeout(8*time.Minute))
})
