package integration

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("TLS of the metrics, the status API and Echoes", Ordered, func() {
	var (
		server *envtest.Environment
		admin  client.Client
	)
	// prepare creates a namespace for an operator to watch. It returns a function that starts the operator, and the address of the
	// operator's metrics endpoint.
	prepare := func(ctx context.Context, name string, rules []rbacv1.PolicyRule, arguments ...string) (func() *gexec.Session, string) {
		GinkgoHelper()
		Expect(admin.Create(ctx, &corev1.Namespace{Name: name + "-own"})).To(Succeed())
		user := addOperator(ctx, server, admin, name, []string{name + "-own"})
		Expect(controlplane.Grant(ctx, admin, "operator-"+name, metav1.NamespaceAll, rules)).To(Succeed())
		address, kubeconfig := reserveAddress(), writeKubeconfig(user.kubeconfig)
		return func() *gexec.Session {
			return startProgram([]string{"KUBECONFIG=" + kubeconfig, "WATCH_NAMESPACE=" + name + "-own"},
				append(arguments, "--health-probe-bind-address=0", "--metrics-bind-address="+address)...)
		}, address
	}
	// connect returns the state of a TLS connection from a client that supports the given versions.
	connect := func(ctx context.Context, address string, versions ...uint16) (tls.ConnectionState, error) {
		dialer := tls.Dialer{Config: &tls.Config{MinVersion: versions[0], MaxVersion: versions[len(versions)-1],
			InsecureSkipVerify: true}} //nolint:gosec // old versions are under test
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer func() { _ = connection.Close() }()
		return connection.(*tls.Conn).ConnectionState(), nil
	}
	accepts := func(ctx context.Context, address string, version uint16, match OmegaMatcher) {
		GinkgoHelper()
		Eventually(func() (tls.ConnectionState, error) { return connect(ctx, address, version) }).WithContext(ctx).Should(match)
	}
	refuses := func(ctx context.Context, address string, version uint16) {
		GinkgoHelper()
		Eventually(func() error { _, err := connect(ctx, address, version); return err }).WithContext(ctx).
			Should(MatchError(ContainSubstring("protocol version not supported")))
	}
	openshiftRules := func() []rbacv1.PolicyRule { return manifest("rbac/openshift_role.yaml", &rbacv1.ClusterRole{}).Rules }

	BeforeAll(func(ctx SpecContext) {
		server, admin = startCluster(support.OpenShiftCRDs(ctx, "route", "routes.crd.yaml"),
			support.OpenShiftCRDs(ctx, "config", "0000_10_config-operator_01_apiservers-Default.crd.yaml")) // for the TLS profile
	})

	It("follows the profile of an OpenShift cluster, and restarts when the profile changes", func(ctx SpecContext) {
		apiServer := &configv1.APIServer{Name: "cluster",
			Spec: configv1.APIServerSpec{TLSSecurityProfile: &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType,
				Modern: &configv1.ModernTLSProfile{}}}}
		Expect(admin.Create(ctx, apiServer)).To(Succeed())
		run, address := prepare(ctx, "follows", openshiftRules())
		session := run()
		echo := support.Echo("follows-own", "secure", func(e *v1.Echo) { e.Spec.TLS = &v1.EchoTLS{SecretName: "certificate"} })
		Expect(admin.Create(ctx, echo)).To(Succeed())
		variables := func(g Gomega) map[string]string {
			deployment, found := &appsv1.Deployment{}, map[string]string{}
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), deployment)).To(Succeed())
			for _, e := range deployment.Spec.Template.Spec.Containers[0].Env {
				found[e.Name] = e.Value
			}
			return found
		}
		Eventually(variables).WithContext(ctx).Should(And(HaveKeyWithValue("ECHO_TLS_MIN_VERSION", "VersionTLS13"),
			Not(HaveKey("ECHO_TLS_CIPHERS"))))
		accepts(ctx, address, tls.VersionTLS13, HaveField("HandshakeComplete", true))
		refuses(ctx, address, tls.VersionTLS12)

		before := apiServer.DeepCopy()
		apiServer.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
			MinTLSVersion: configv1.VersionTLS11,
			Ciphers:       []string{"ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA"}}}
		Expect(admin.Patch(ctx, apiServer, client.MergeFrom(before))).To(Succeed())
		Eventually(session).WithContext(ctx).Should(gexec.Exit(0))
		Expect(session.Err).To(gbytes.Say("The TLS profile of the cluster has changed."))
		session = run()
		accepts(ctx, address, tls.VersionTLS12, HaveField("CipherSuite", tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384))
		accepts(ctx, address, tls.VersionTLS11, HaveField("CipherSuite", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA))
		Eventually(variables).WithContext(ctx).Should(And(HaveKeyWithValue("ECHO_TLS_MIN_VERSION", "VersionTLS12"),
			HaveKeyWithValue("ECHO_TLS_CIPHERS", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384")))

		By("losing the object, which does not set another profile")
		Expect(admin.Delete(ctx, apiServer)).To(Succeed())
		Consistently(func() error { _, err := connect(ctx, address, tls.VersionTLS11); return err }).WithContext(ctx).WithTimeout(
			time.Second).Should(Succeed())
		Expect(session.ExitCode()).To(Equal(-1), "the operator must continue to run")
		apiServer.ObjectMeta = metav1.ObjectMeta{Name: "cluster"} // the next specs use this object
		Expect(admin.Create(ctx, apiServer)).To(Succeed())
	}, SpecTimeout(specTimeout))

	It("of an Ingress uses the router's default certificate where the cluster serves Routes, and a missing Route is reported",
		func(ctx SpecContext) {
			run, _ := prepare(ctx, "routes", openshiftRules())
			run()
			echo := support.Echo("routes-own", "routed", func(e *v1.Echo) {
				e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a.example.com", TLS: &v1.EchoIngressTLS{Enabled: new(true)}, PathType: networkingv1.PathTypeExact}
			})
			Expect(admin.Create(ctx, echo)).To(Succeed())
			ingress := &networkingv1.Ingress{Namespace: echo.Namespace, Name: echo.Name}
			support.EventuallyObject(ctx, admin, ingress).Should(HaveField("Spec.TLS", Equal([]networkingv1.IngressTLS{{}})))
			support.EventuallyObject(ctx, admin, echo).Should(HaveField("Status.Message", ContainSubstring("OpenShift creates no Route")))
		}, SpecTimeout(specTimeout))

	It("uses a certificate that is created after the operator starts", func(ctx SpecContext) {
		folder := GinkgoT().TempDir()
		run, address := prepare(ctx, "certificate", openshiftRules(), "--metrics-cert-path="+folder)
		run()
		named := func(name string) OmegaMatcher {
			return HaveField("PeerCertificates", ContainElement(HaveField("DNSNames", ContainElement(name))))
		}
		accepts(ctx, address, tls.VersionTLS13, named("localhost"))
		certificate, key, err := cert.GenerateSelfSignedCertKey("metrics.certificate.svc", nil, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600)).To(Succeed())
		accepts(ctx, address, tls.VersionTLS13, named("metrics.certificate.svc"))
	}, SpecTimeout(specTimeout))
})
