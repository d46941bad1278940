package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = It("a policy for TLS between a Gateway and the pods is managed like other children", func(ctx SpecContext) {
	server, admin := startCluster(support.GatewayCRDs(ctx)...)
	Expect(controlplane.GrantOperatorsRole(ctx, admin, configFolder)).To(Succeed())
	DeferCleanup(startReplica(server.Config, func(*operator.Options) {}).stop)

	echo := support.Echo("default", "secure", func(e *v1.Echo) {
		e.Spec.TLS = &v1.EchoTLS{SecretName: "certificate"}
		e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), ParentRefs: []v1.EchoGatewayReference{{Name: "public"}},
			BackendTLS: &v1.EchoGatewayBackendTLS{Hostname: "secure.example.com", CAConfigMap: "ca"}}
	})
	foreign := &gatewayv1.BackendTLSPolicy{Namespace: echo.Namespace, Name: echo.Name,
		Spec: gatewayv1.BackendTLSPolicySpec{
			TargetRefs: []gatewayv1.LocalPolicyTargetReferenceWithSectionName{
				{Kind: "Service", Name: "other"}},
			Validation: gatewayv1.BackendTLSPolicyValidation{Hostname: "other.example.com",
				WellKnownCACertificates: new(gatewayv1.WellKnownCACertificatesSystem)}}}
	Expect(admin.Create(ctx, foreign)).To(Succeed())
	Expect(admin.Create(ctx, echo)).To(Succeed())
	support.EventuallyObject(ctx, admin, echo).Should(
		HaveField("Status.Message", HavePrefix("The BackendTLSPolicy secure already exists, was not created for this Echo")))

	Expect(admin.Delete(ctx, foreign)).To(Succeed())
	// triggers a reconcile before the operator's next periodic check
	Expect(admin.Patch(ctx, echo, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`)))).To(Succeed())
	policy := named(&gatewayv1.BackendTLSPolicy{}, echo)
	support.EventuallyObject(ctx, admin, policy).Should(HaveField("Spec.Validation.Hostname", BeEquivalentTo("secure.example.com")))
	Expect(admin.Patch(ctx, echo, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"gateway":{"backendTLS":null}}}`)))).To(Succeed())
	eventuallyGone(ctx, admin, policy)
}, SpecTimeout(specTimeout))
