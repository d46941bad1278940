package e2e

import (
	"context"
	"crypto/tls"
	"math/big"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	// rotation is how long the kubelet can take to update a mounted Secret, or to restart a container that has failed several times.
	rotation = 6 * time.Minute
	// certificateSecret is the name of the Secret that contains the certificate in the TLS tests.
	certificateSecret = "certificate"
)

var _ = Describe("an Echo with TLS", func() {
	It("drops no request while its certificate is renewed", func(ctx SpecContext) {
		echo := echoWithTLS(namespaces.New(ctx), "renewed")
		first := applyCertificate(ctx, echo)
		createReady(ctx, echo)
		before := pods(ctx, Default, echo)
		eventuallyServes(ctx, echo, first)
		prober := realcluster.StartProber(ctx, echo.Namespace, httpsURL(echo)+"/e2e", "--insecure", "--count=1000000", "--interval=2ms",
			"--duration=1h")

		second := applyCertificate(ctx, echo)
		eventuallyServes(ctx, echo, second)

		seen := prober.Stop(ctx)
		Expect(seen.Failed).To(BeZero(), "of %d: %v", seen.Requests, seen.Errors)
		Expect(seen.Requests).To(BeNumerically(">", 500))
		for _, pod := range before {
			Expect(seen.Pods).To(HaveKey(pod.Name))
			expectUndisturbed(ctx, &pod)
		}
	}, SpecTimeout(20*time.Minute))
})

func echoWithTLS(namespace, name string) *v1.Echo {
	return support.Echo(namespace, name, func(e *v1.Echo) { e.Spec.TLS = &v1.EchoTLS{SecretName: certificateSecret} })
}

// httpsURL returns the in-cluster HTTPS URL of an Echo with TLS.
func httpsURL(echo *v1.Echo) string {
	return strings.Replace(echo.Status.URL, "http://", "https://", 1)
}

// applyCertificate stores a new certificate in an Echo's Secret, and returns the certificate's serial number.
func applyCertificate(ctx context.Context, echo *v1.Echo) *big.Int {
	GinkgoHelper()
	secret := client.ObjectKey{Namespace: echo.Namespace, Name: certificateSecret}
	return realcluster.ApplyCertificate(ctx, k8s, secret, 24*time.Hour, echo.Name+"."+echo.Namespace+".svc").SerialNumber
}

// eventuallyServes waits until all of an Echo's pods present the certificate with the given serial number.
func eventuallyServes(ctx context.Context, echo *v1.Echo, serial *big.Int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := pods(ctx, g, echo)
		g.Expect(found).To(HaveLen(int(echo.Spec.DesiredReplicas())))
		for _, pod := range found {
			g.Expect(servedSerial(ctx, g, &pod)).To(Equal(serial.String()))
		}
	}).WithContext(ctx).WithTimeout(rotation).WithPolling(2 * time.Second).Should(Succeed())
}

func servedSerial(ctx context.Context, g Gomega, pod *corev1.Pod) (serial string) {
	GinkgoHelper()
	throughPortForward(ctx, g, pod.Namespace, "pod/"+pod.Name, "8443", func(address string) {
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the test only looks for the certificate
		connection, err := dialer.DialContext(ctx, "tcp", address)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = connection.Close() }()
		secure, ok := connection.(*tls.Conn)
		g.Expect(ok).To(BeTrue())
		serial = secure.ConnectionState().PeerCertificates[0].SerialNumber.String()
	})
	return serial
}
