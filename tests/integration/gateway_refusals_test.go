package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = DescribeTable("the API server rejects an invalid gateway", func(ctx SpecContext, field, message string, change func(*v1.Echo)) {
	err := k8s.Create(ctx, support.Echo("default", "wrong", func(e *v1.Echo) {
		e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), Hostnames: []string{"wrong.example.com"},
			ParentRefs: []v1.EchoGatewayReference{{Name: "public"}}}
	}, change))
	Expect(err).To(Satisfy(apierrors.IsInvalid))
	Expect(err).To(MatchError(And(ContainSubstring(field), ContainSubstring(message))))
},
	Entry("without a Gateway", "spec.gateway", "The field parentRefs is required when the gateway is enabled.",
		func(e *v1.Echo) { e.Spec.Gateway.ParentRefs = nil }),
	Entry("gRPC without host names", "spec.gateway.hostnames", "The field hostnames is required with grpc", func(e *v1.Echo) {
		e.Spec.Gateway.Hostnames, e.Spec.Gateway.GRPC = nil, &v1.EchoGatewayGRPC{Hostnames: []string{"g.example.com"}}
	}),
	Entry("a path with two dots", "spec.gateway.path", "The path must not contain", func(e *v1.Echo) { e.Spec.Gateway.Path = "/a/../b" }),
	Entry("a path that ends with a dot", "spec.gateway.path", "The path must not contain", func(e *v1.Echo) { e.Spec.Gateway.Path = "/a/." }),
	Entry("a path with a space", "spec.gateway.path", "should match", func(e *v1.Echo) { e.Spec.Gateway.Path = "/a b" }),
	Entry("a path with a query", "spec.gateway.path", "should match", func(e *v1.Echo) { e.Spec.Gateway.Path = "/a?b" }),
	Entry("a path with an incomplete escape", "spec.gateway.path", "should match", func(e *v1.Echo) { e.Spec.Gateway.Path = "/100%" }),
	Entry("a repeated Gateway", "spec.gateway.parentRefs", "must have different sectionNames", func(e *v1.Echo) {
		e.Spec.Gateway.ParentRefs = []v1.EchoGatewayReference{{Name: "public", Namespace: "a"}, {Name: "public"},
			{Name: "public", Namespace: "a"}}
	}),
	Entry("a Gateway and one of its listeners", "spec.gateway.parentRefs", "must have different sectionNames", func(e *v1.Echo) {
		e.Spec.Gateway.ParentRefs = []v1.EchoGatewayReference{{Name: "public"}, {Name: "public", SectionName: "https"}}
	}),
	Entry("a host name that is too long", "spec.gateway.hostnames", "Too long", func(e *v1.Echo) {
		e.Spec.Gateway.Hostnames = []string{strings.Repeat("a.", 150) + "example.com"}
	}),
)

var _ = It("the API server accepts several listeners of a Gateway, and escapes in its path", func(ctx SpecContext) {
	Expect(k8s.Create(ctx, support.Echo("default", "right", func(e *v1.Echo) {
		e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), Path: "/a%20b/~c", ParentRefs: []v1.EchoGatewayReference{
			{Name: "public", SectionName: "http"}, {Name: "public", SectionName: "https"}, {Name: "public", Namespace: "other"}}}
	}), client.DryRunAll)).To(Succeed())
})

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
