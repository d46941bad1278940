package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("an Echo", func() {
	It("whose peers the API server rejects reports the field, and recovers", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "unreachable"))
		from := func(cidr string) func(*v1.Echo) {
			return func(e *v1.Echo) {
				e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true,
					From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}}}
			}
		}
		edit(ctx, echo, from("10.0.0.0/99"))
		expectFailed(ctx, echo, v1.ReasonInvalidSpec,
			And(ContainSubstring("spec.ingress[0].from[0].ipBlock.cidr"), ContainSubstring("10.0.0.0/99")))
		edit(ctx, echo, from("10.0.0.0/8"))
		rollOut(ctx, echo.Namespace, echo.Name)
		policy := get(ctx, Default, echo.Namespace, echo.Name, &networkingv1.NetworkPolicy{})
		Expect(policy.Spec.Ingress).To(ConsistOf(HaveField("From", echo.Spec.NetworkPolicy.From)))
	})

	It("whose pods violate the operator's Pod Security Standard is rejected without changes, and recovers", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "mighty"))
		before := deploymentNow(ctx, Default, echo.Namespace, echo.Name)
		edit(ctx, echo, func(e *v1.Echo) {
			e.Spec.SecurityContext, e.Spec.Service.Port = &corev1.SecurityContext{Privileged: new(true)}, 81
		})
		expectFailed(ctx, echo, v1.ReasonInvalidSpec, And(ContainSubstring("operator's Pod Security Standard, baseline"), ContainSubstring("POD_SECURITY"),
			ContainSubstring("privileged (container 'echo' must not set securityContext.privileged=true)")))
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name).Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(deploymentNow(ctx, Default, echo.Namespace, echo.Name).Generation).To(Equal(before.Generation))
		Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name).Spec.Ports[0].Port).To(BeEquivalentTo(80))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))} })
		rollOut(ctx, echo.Namespace, echo.Name)
	})

	It("whose fields exclude each other is rejected without changes, and recovers", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "clashing"))
		deployment, service := deploymentNow(ctx, Default, echo.Namespace, echo.Name), serviceNow(ctx, Default, echo.Namespace, echo.Name)
		gateway := func(http, grpc string) *v1.EchoGateway {
			return &v1.EchoGateway{Enabled: true, ParentRefs: []v1.EchoGatewayReference{{Name: "public"}}, Hostnames: []string{http},
				GRPC: &v1.EchoGatewayGRPC{Hostnames: []string{grpc}}}
		}
		for _, c := range []struct {
			tls     *v1.EchoTLS
			service int32
			gateway *v1.EchoGateway
			message string
		}{
			{&v1.EchoTLS{SecretName: "a", Port: 8080}, 80, nil, "spec.tls.port is 8080, the same port as spec.port."},
			{&v1.EchoTLS{SecretName: "a", Port: 9090}, 80, nil, "spec.tls.port is 9090, which is the metrics port of the echo server."},
			{&v1.EchoTLS{SecretName: "a"}, 443, nil, "spec.tls.servicePort is 443 by default, the same port as spec.service.port."},
			{nil, 80, gateway("*.example.com", "g.example.com"), "g.example.com in spec.gateway.grpc.hostnames overlaps *.example.com"},
			{nil, 80, &v1.EchoGateway{Enabled: true, ParentRefs: []v1.EchoGatewayReference{{Name: "public"}},
				BackendTLS: &v1.EchoGatewayBackendTLS{Hostname: "x.example.com", CAConfigMap: "ca"}}, "Set spec.tls.secretName, or remove"},
		} {
			edit(ctx, echo, func(e *v1.Echo) { e.Spec.TLS, e.Spec.Service.Port, e.Spec.Gateway = c.tls, c.service, c.gateway })
			expectFailed(ctx, echo, v1.ReasonInvalidSpec, ContainSubstring(c.message))
		}
		now := echoNow(ctx, Default, echo.Namespace, echo.Name)
		Expect(now).To(haveCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonInvalidSpec))
		Expect(now.Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(deploymentNow(ctx, Default, echo.Namespace, echo.Name).Generation).To(Equal(deployment.Generation))
		Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name).ResourceVersion).To(Equal(service.ResourceVersion))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.TLS, e.Spec.Service.Port, e.Spec.Gateway = nil, 80, nil })
		expectPhase(ctx, echo, v1.PhaseReady)
	})
})

// installDefinitions creates the CustomResourceDefinitions in the given files.
func installDefinitions(config *rest.Config, files []string) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(config, definitionsIn(files))
	Expect(err).NotTo(HaveOccurred())
}

// uninstallDefinitions deletes CustomResourceDefinitions, and waits until they are gone, because the API server also deletes objects that
// are created in the meantime. If a client applies an object during the deletion, API servers before version 1.35 take one minute longer.
func uninstallDefinitions(ctx context.Context, config *rest.Config, admin client.Client, files []string) {
	GinkgoHelper()
	Expect(envtest.UninstallCRDs(config, definitionsIn(files))).To(Succeed())
	definitions := &metav1.PartialObjectMetadataList{}
	definitions.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	Eventually(func(g Gomega) {
		g.Expect(admin.List(ctx, definitions)).To(Succeed())
		for _, definition := range definitions.Items {
			g.Expect(definition.DeletionTimestamp).To(BeNil(), definition.Name)
		}
	}).WithContext(ctx).Should(Succeed())
}

func definitionsIn(files []string) envtest.CRDInstallOptions {
	return envtest.CRDInstallOptions{Paths: files, Scheme: runtime.NewScheme()}
}
