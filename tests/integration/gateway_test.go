package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// These specs run in order: Gateway API is missing when the operator starts, and is then installed, used, deleted, and installed again.
var _ = Describe("behind a Gateway", Ordered, SpecPriority(1), func() {
	const namespace, gateways = "routed", "gateways"
	var server *envtest.Environment
	var admin client.Client
	var run *replica
	gatewayAPI := &discoveredAPI{}
	routed := func(name string, changes ...func(*v1.Echo)) *v1.Echo {
		return support.Echo(namespace, name, append([]func(*v1.Echo){func(e *v1.Echo) {
			e.Spec.Replicas = new(int32(0))
			e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), Hostnames: []string{name + ".example.com"},
				ParentRefs: []v1.EchoGatewayReference{{Name: "public", Namespace: gateways}}}
		}}, changes...)...)
	}
	expectDegraded := func(ctx context.Context, echo *v1.Echo, reason, message string) {
		GinkgoHelper()
		deployment := &appsv1.Deployment{}
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(echo), deployment) }).WithContext(ctx).Should(Succeed())
		Expect(support.RollOut(ctx, admin, deployment)).To(Succeed())
		Eventually(func(g Gomega) {
			now := &v1.Echo{}
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), now)).To(Succeed())
			degraded := meta.FindStatusCondition(now.Status.Conditions, v1.ConditionDegraded)
			g.Expect(degraded).To(HaveField("Reason", reason))
			g.Expect(now.Status.Message).To(ContainSubstring(message))
			g.Expect(meta.IsStatusConditionTrue(now.Status.Conditions, v1.ConditionReady)).To(BeTrue())
			if degraded.Status == metav1.ConditionTrue {
				g.Expect(now.Status.Phase).To(Equal(v1.PhaseWarning))
			}
		}).WithContext(ctx).Should(Succeed())
	}
	expectRoute := func(ctx context.Context, echo *v1.Echo, route client.Object) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), route)).To(Succeed())
			g.Expect(metav1.IsControlledBy(route, echo)).To(BeTrue())
		}).WithContext(ctx).Should(Succeed()) // the operator may have to restart first
	}
	// say sets the status of an Echo's HTTPRoute as a Gateway controller does.
	say := func(ctx context.Context, echo *v1.Echo, accepted metav1.ConditionStatus, reason, message string) {
		GinkgoHelper()
		route := &gatewayv1.HTTPRoute{}
		expectRoute(ctx, echo, route)
		route.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: route.Spec.ParentRefs[0], ControllerName: "example.com/controller",
			Conditions: []metav1.Condition{{Type: "Accepted", Status: accepted, Reason: reason, Message: message,
				LastTransitionTime: metav1.Now()}}}}
		Expect(admin.Status().Update(ctx, route)).To(Succeed())
	}

	BeforeAll(func(ctx SpecContext) {
		server, admin = startCluster()
		for _, name := range []string{namespace, gateways} {
			Expect(admin.Create(ctx, &corev1.Namespace{Name: name})).To(Succeed())
		}
		Expect(controlplane.GrantOperatorsRole(ctx, admin, configFolder)).To(Succeed())
		run = startReplica(gatewayAPI.config(server.Config), func(*operator.Options) {})
		DeferCleanup(func() { run.stop() })
	})

	It("an Echo reports that the cluster does not serve the API, and others do not need it", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo := routed("early")
		Expect(admin.Create(ctx, echo)).To(Succeed())
		expectDegraded(ctx, echo, "GatewayAPIMissing", "The cluster does not serve HTTPRoute in gateway.networking.k8s.io/v1.")
		Expect(admin.Create(ctx, support.Echo(namespace, "plain", func(e *v1.Echo) { e.Spec.Replicas = new(int32(0)) }))).To(Succeed())
		expectDegraded(ctx, support.Echo(namespace, "plain"), "AsExpected", "No pods are requested")
	})

	It("the Echo gets its route once the API is installed", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo, other := routed("early"), routed("other", func(e *v1.Echo) {
			e.Spec.Gateway.GRPC = &v1.EchoGatewayGRPC{Hostnames: []string{"grpc.example.com"}}
			e.Spec.TLS = &v1.EchoTLS{SecretName: "certificate"}
			e.Spec.Gateway.BackendTLS = &v1.EchoGatewayBackendTLS{Hostname: "other.example.com", CAConfigMap: "ca"}
		})
		Expect(admin.Create(ctx, other)).To(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		run.expectRestart(ctx, func() {
			gatewayAPI.changeAtOnce(func() { installDefinitions(server.Config, support.GatewayCRDs(ctx)) })
		})
		route := &gatewayv1.HTTPRoute{}
		expectRoute(ctx, echo, route)
		Expect(route.Spec.Hostnames).To(ConsistOf(gatewayv1.Hostname("early.example.com")))
		expectRoute(ctx, other, &gatewayv1.HTTPRoute{})
		expectRoute(ctx, other, &gatewayv1.GRPCRoute{})
		policy := &gatewayv1.BackendTLSPolicy{}
		expectRoute(ctx, other, policy)
		Expect(policy.Spec.Validation.Hostname).To(BeEquivalentTo("other.example.com"))
		expectDegraded(ctx, echo, "RouteNotAccepted", "Gateway gateways/public does not exist.")
		By("writing nothing when nothing has changed")
		expectRoute(ctx, echo, route)
		version := route.ResourceVersion
		Expect(admin.Patch(ctx, echo, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"look":"again"}}}`)))).To(
			Succeed())
		Consistently(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), route)).To(Succeed())
			g.Expect(route.ResourceVersion).To(Equal(version))
		}).WithContext(ctx).Should(Succeed())
		By("creating the route again after another client deletes it")
		Expect(admin.Delete(ctx, route)).To(Succeed())
		support.EventuallyObject(ctx, admin, route).ShouldNot(HaveField("UID", route.UID))
	})

	It("the Echo reports its Gateway's problem", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo := routed("early")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		gateway := &gatewayv1.Gateway{Namespace: gateways, Name: "public", Spec: gatewayv1.GatewaySpec{
			GatewayClassName: "example", Listeners: []gatewayv1.Listener{
				{Name: "own", Protocol: "HTTP", Port: 8081},
				{Name: "web", Protocol: "HTTP", Port: 8080,
					AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: new(gatewayv1.NamespacesFromAll)}}}}}}
		Expect(admin.Create(ctx, gateway)).To(Succeed())
		expectDegraded(ctx, echo, "AsExpected", "No pods are requested")
		say(ctx, echo, metav1.ConditionFalse, "NotAllowedByListeners", "the namespace is not allowed")
		expectDegraded(ctx, echo, "RouteNotAccepted",
			`Gateway gateways/public reports a problem with the HTTPRoute (Accepted, NotAllowedByListeners): "the namespace is not allowed". Allow routes`)
		say(ctx, echo, metav1.ConditionTrue, "Accepted", "")
		expectDegraded(ctx, echo, "AsExpected", "No pods are requested")
		support.EventuallyObject(ctx, admin, echo).Should(HaveField("Status.ExternalURL", "http://early.example.com:8080"))
		Expect(admin.Patch(ctx, gateway, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"listeners":[
			{"name":"web","protocol":"HTTP","port":80,"allowedRoutes":{"namespaces":{"from":"All"}}}]}}`)))).To(Succeed())
		support.EventuallyObject(ctx, admin, echo).Should(HaveField("Status.ExternalURL", "http://early.example.com"))
		events := &eventsv1.EventList{}
		Eventually(func(g Gomega) {
			g.Expect(admin.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
			g.Expect(events.Items).To(ContainElements(
				And(HaveField("Reason", "RouteNotAccepted"), HaveField("Type", "Warning"),
					HaveField("Note", ContainSubstring("NotAllowedByListeners"))),
				And(HaveField("Reason", "RouteAccepted"), HaveField("Regarding.Name", "early"))))
		}).WithContext(ctx).Should(Succeed())
	})

	It("the operator continues when the API is deleted, and when it is installed again", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo := routed("other")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		run.expectRestart(ctx, func() {
			gatewayAPI.changeAtOnce(func() { uninstallDefinitions(ctx, server.Config, admin, support.GatewayCRDs(ctx)) })
			expectDegraded(ctx, echo, "GatewayAPIMissing", "The cluster does not serve BackendTLSPolicy") // possibly before the restart
		})
		expectDegraded(ctx, echo, "GatewayAPIMissing", "The cluster does not serve BackendTLSPolicy")
		late := support.Echo(namespace, "late", func(e *v1.Echo) { e.Spec.Replicas = new(int32(0)) })
		Expect(admin.Create(ctx, late)).To(Succeed())
		expectDegraded(ctx, late, "AsExpected", "No pods are requested")
		early := routed("early") // this Echo used to have a route
		Expect(admin.Delete(ctx, early)).To(Succeed())
		eventuallyReleased(ctx, admin, early)

		run.expectRestart(ctx, func() {
			gatewayAPI.changeAtOnce(func() { installDefinitions(server.Config, support.GatewayCRDs(ctx)) })
		})
		expectRoute(ctx, echo, &gatewayv1.HTTPRoute{})
		expectRoute(ctx, echo, &gatewayv1.GRPCRoute{})
		Expect(admin.Delete(ctx, echo)).To(Succeed())
		eventuallyReleased(ctx, admin, echo, &gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}, &gatewayv1.BackendTLSPolicy{})
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), &gatewayv1.HTTPRoute{})).To(Satisfy(apierrors.IsNotFound))
	})
})
