package integration

import (
	"context"
	"slices"
	"strings"
	"time"

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
		echo, other := routed("early"), routed("other",
			func(e *v1.Echo) { e.Spec.Gateway.GRPC = &v1.EchoGatewayGRPC{Hostnames: []string{"grpc.example.com"}} })
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
		expectDegraded(ctx, echo, "RouteNotAccepted", "Gateway gateways/public does not exist.")
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

	It("its routes are managed like other children", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo, route := routed("early"), &gatewayv1.HTTPRoute{}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		By("reverting another client's edits, and keeping another client's additions")
		expectRoute(ctx, echo, route)
		Expect(admin.Patch(ctx, route, client.RawPatch(types.MergePatchType,
			[]byte(
				`{"metadata":{"labels":{"team":"a"}},"spec":{"hostnames":["other.example.com"],"rules":[{"backendRefs":[{"name":"other","port":1}]}]}}`)))).To(Succeed())
		Eventually(func(g Gomega) {
			expectRoute(ctx, echo, route)
			g.Expect(route.Spec.Hostnames).To(ConsistOf(gatewayv1.Hostname("early.example.com")))
			g.Expect(route.Spec.Rules[0].BackendRefs[0].Name).To(Equal(gatewayv1.ObjectName("early")))
			g.Expect(route.Labels).To(HaveKeyWithValue("team", "a"))
		}).WithContext(ctx).Should(Succeed())
		By("creating the route again after another client deletes it")
		Expect(admin.Delete(ctx, route)).To(Succeed())
		support.EventuallyObject(ctx, admin, route).ShouldNot(HaveField("UID", route.UID))
		expectRoute(ctx, echo, route)
		By("writing nothing when nothing has changed")
		version := route.ResourceVersion
		Expect(admin.Patch(ctx, echo, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"look":"again"}}}`)))).To(
			Succeed())
		Consistently(func(g Gomega) {
			expectRoute(ctx, echo, route)
			g.Expect(route.ResourceVersion).To(Equal(version))
		}).WithContext(ctx).WithTimeout(time.Second).Should(Succeed())
		By("deleting the route when it is no longer desired")
		Expect(admin.Patch(ctx, echo, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"gateway":null}}`)))).To(Succeed())
		eventuallyGone(ctx, admin, route)
	})

	It("an Echo reports that its Gateway was deleted, and keeps its route while paused", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo := routed("other")
		gateway := &gatewayv1.Gateway{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: gateways, Name: "public"}, gateway)).To(Succeed())
		Expect(admin.Delete(ctx, gateway)).To(Succeed())
		expectDegraded(ctx, echo, "RouteNotAccepted", "Gateway gateways/public does not exist.")
		Expect(admin.Patch(ctx, echo, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":true,"gateway":{"enabled":false}}}`)))).To(
			Succeed())
		expectDegraded(ctx, echo, "AsExpected", "The Echo is paused")
		expectRoute(ctx, echo, &gatewayv1.HTTPRoute{})
		Expect(admin.Patch(ctx, echo, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":false,"gateway":{"enabled":true}}}`)))).To(
			Succeed())
		expectDegraded(ctx, echo, "RouteNotAccepted", "Gateway gateways/public does not exist.")
	})

	It("one kind is deleted, and the operator continues to use the other kinds", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo, both := routed("http"), routed("other")
		Expect(admin.Create(ctx, echo)).To(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(both), both)).To(Succeed())
		expectRoute(ctx, echo, &gatewayv1.HTTPRoute{})
		only := slices.DeleteFunc(support.GatewayCRDs(ctx), func(file string) bool { return !strings.HasSuffix(file, "_grpcroutes.yaml") })
		run.expectRestart(ctx, func() {
			uninstallDefinitions(ctx, server.Config, admin, only)
			expectDegraded(ctx, both, "GatewayAPIMissing", "The cluster does not serve GRPCRoute") // possibly before the restart
		})
		expectDegraded(ctx, both, "GatewayAPIMissing", "The cluster does not serve GRPCRoute")
		route := &gatewayv1.HTTPRoute{}
		expectRoute(ctx, echo, route)
		Expect(admin.Delete(ctx, route)).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(echo), route) }).WithContext(ctx).Should(Succeed())
		run.expectRestart(ctx, func() { installDefinitions(server.Config, only) })
		expectRoute(ctx, both, &gatewayv1.GRPCRoute{})
		Expect(admin.Delete(ctx, echo)).To(Succeed())
		eventuallyReleased(ctx, admin, echo, route)
	})

	It("the operator continues when the API is deleted, and when it is installed again", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo := routed("other")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		run.expectRestart(ctx, func() {
			gatewayAPI.changeAtOnce(func() { uninstallDefinitions(ctx, server.Config, admin, support.GatewayCRDs(ctx)) })
			expectDegraded(ctx, echo, "GatewayAPIMissing", "The cluster does not serve HTTPRoute") // possibly before the restart
		})
		expectDegraded(ctx, echo, "GatewayAPIMissing", "The cluster does not serve HTTPRoute")
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
		eventuallyReleased(ctx, admin, echo, &gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{})
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), &gatewayv1.HTTPRoute{})).To(Satisfy(apierrors.IsNotFound))
	})
})
