package status

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/tests/support"
)

func behindGateway(e *v1.Echo) {
	e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), ParentRefs: []v1.EchoGatewayReference{{Name: "g"}}}
}

// routeWith returns a one-minute-old HTTPRoute with the given conditions for a Gateway.
func routeWith(now time.Time, conditions ...metav1.Condition) *gatewayv1.HTTPRoute {
	route := &gatewayv1.HTTPRoute{CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))}
	if len(conditions) > 0 {
		route.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: gatewayv1.ParentReference{Name: "g"}, Conditions: conditions}}
	}
	return route
}

func TestRouteCause(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	there := objects.Gateways{client.ObjectKey{Namespace: "ns", Name: "g"}: &gatewayv1.Gateway{}}
	accepted := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue}
	young := routeWith(now)
	young.CreationTimestamp = metav1.NewTime(now.Add(-time.Second))
	edited := routeWith(now, metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, ObservedGeneration: 1})
	edited.Generation = 2
	policy := &gatewayv1.BackendTLSPolicy{Status: gatewayv1.PolicyStatus{Ancestors: []gatewayv1.PolicyAncestorStatus{{
		AncestorRef: gatewayv1.ParentReference{Name: "g"}, Conditions: []metav1.Condition{accepted,
			{Type: "ResolvedRefs", Status: metav1.ConditionFalse, Reason: "InvalidCACertificateRef", Message: "no ConfigMap"}}}}}}
	const ready, twoOfTwo = "True AllPodsReady", "2 of 2 pods are ready."
	const otherwise = "Check spec.gateway in the Echo, and the listeners of the Gateway."
	for name, c := range map[string]struct {
		seen Observation
		want said
		next time.Duration
	}{
		"accepted": {seen: Observation{HTTPRoute: routeWith(now, accepted), Gateways: there},
			want: said{Degraded: "False AsExpected", Event: "Normal Ready"}},
		"refused": {seen: Observation{HTTPRoute: routeWith(now, metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse,
			Reason: "NotAllowedByListeners", Message: "the namespace is not allowed"}), Gateways: there},
			want: said{Degraded: "True RouteNotAccepted",
				Message: `Gateway ns/g reports a problem with the HTTPRoute (Accepted, NotAllowedByListeners): "the namespace is not allowed". ` +
					"Allow routes from this namespace in a listener of the Gateway (allowedRoutes)."}},
		"a reference is not resolved": {seen: Observation{HTTPRoute: routeWith(now, accepted, metav1.Condition{Type: "ResolvedRefs",
			Status: metav1.ConditionFalse, Reason: "BackendNotFound", Message: "no Service"}), Gateways: there},
			want: said{Degraded: "True RouteNotAccepted",
				Message: `Gateway ns/g reports a problem with the HTTPRoute (ResolvedRefs, BackendNotFound): "no Service". ` + otherwise}},
		"refused without a word": {seen: Observation{HTTPRoute: routeWith(now, metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse,
			Reason: "NoMatchingListenerHostname"}), Gateways: there},
			want: said{Degraded: "True RouteNotAccepted",
				Message: "Gateway ns/g reports a problem with the HTTPRoute (Accepted, NoMatchingListenerHostname). " +
					"Change spec.gateway.hostnames so that a listener of the Gateway matches them."}},
		"something else is false": {seen: Observation{HTTPRoute: routeWith(now, accepted, metav1.Condition{Type: "PartiallyInvalid",
			Status: metav1.ConditionFalse}), Gateways: there},
			want: said{Degraded: "False AsExpected"}},
		"no Gateway": {seen: Observation{HTTPRoute: young, Gateways: objects.Gateways{}},
			want: said{Degraded: "True RouteNotAccepted",
				Message: "Gateway ns/g does not exist. Create it, or change spec.gateway.parentRefs."}},
		"no report yet": {seen: Observation{HTTPRoute: young, Gateways: there}, next: routePatience - time.Second,
			want: said{Degraded: "False AsExpected"}},
		"no report": {seen: Observation{HTTPRoute: routeWith(now), Gateways: there},
			want: said{Degraded: "True RouteNotAccepted", Message: "No controller has reported whether Gateway ns/g accepts the HTTPRoute. " +
				"Check that the controller of its GatewayClass is running."}},
		"no report on the current generation": {seen: Observation{HTTPRoute: edited, Gateways: there},
			want: said{Degraded: "True RouteNotAccepted", Message: "No controller has reported whether Gateway ns/g accepts the HTTPRoute. " +
				"Check that the controller of its GatewayClass is running."}},
		"a policy is refused": {seen: Observation{HTTPRoute: routeWith(now, accepted), BackendTLSPolicy: policy, Gateways: there},
			want: said{Degraded: "True RouteNotAccepted",
				Message: `Gateway ns/g reports a problem with the BackendTLSPolicy (ResolvedRefs, InvalidCACertificateRef): "no ConfigMap". ` + otherwise}},
		"no report on a policy": {
			seen: Observation{HTTPRoute: routeWith(now, accepted), BackendTLSPolicy: &gatewayv1.BackendTLSPolicy{}, Gateways: there},
			want: said{Degraded: "False AsExpected"}},
		"no API": {seen: Observation{Unserved: []Unserved{{Kind: "HTTPRoute"}}}, next: LookPeriod,
			want: said{Degraded: "True GatewayAPIMissing", Message: "The cluster does not serve HTTPRoute in gateway.networking.k8s.io/v1. " +
				"Install Gateway API 1.4 or later. The operator detects it within minutes and restarts."}},
		"no right": {seen: Observation{Unserved: []Unserved{{Kind: "HTTPRoute", Refused: "forbidden"}}}, next: LookPeriod,
			want: said{Degraded: "True GatewayAPIMissing",
				Message: `The operator cannot use the Gateway API kind HTTPRoute: "forbidden". Ask an administrator to fix what the message names, such as missing roles.`}},
		"no right to Gateways": {seen: Observation{HTTPRoute: routeWith(now, accepted), GatewaysRefused: "forbidden"},
			want: said{Degraded: "False AsExpected", Message: `The URL of the Gateway is unknown: "forbidden".`}},
	} {
		t.Run(name, func(t *testing.T) {
			c.seen.Deployment = seenDeployment(done, 2, 2, 2)
			report := Evaluate(support.Echo("ns", "x", behindGateway), c.seen, nil, now)
			got := saying(report)
			if got.Ready != ready || got.Degraded != c.want.Degraded || got.Message != message.Join(c.want.Message, twoOfTwo) || report.Next != c.next {
				t.Errorf("got %+v, and the next reconcile in %s", got, report.Next)
			}
			if degraded := got.Degraded != "False AsExpected"; degraded != (report.Status.Phase == v1.PhaseWarning) {
				t.Errorf("the phase is %s", report.Status.Phase)
			}
		})
	}
}

// TestEvaluate_keepsURLWhileGatewaysUnknown checks that an unresponsive API server is not mistaken for an API server without Gateway API.
func TestEvaluate_keepsURLWhileGatewaysUnknown(t *testing.T) {
	for unknown, want := range map[bool]string{true: "http://a.example.com", false: ""} {
		echo := support.Echo("ns", "x", behindGateway, func(e *v1.Echo) { e.Status.ExternalURL = "http://a.example.com" })
		report := Evaluate(echo, Observation{Deployment: seenDeployment(done, 2, 2, 2), Service: &corev1.Service{}, GatewaysUnknown: unknown,
			Unserved: []Unserved{{Kind: "HTTPRoute", Refused: "time out"}}}, nil, time.Now())
		NewWithT(t).Expect(report.Status.ExternalURL).To(Equal(want), "unknown %t", unknown)
	}
}

// TestRouteCause_waitsAfterRouteChange checks that a Gateway to which a route was just added is not reported as silent.
func TestRouteCause_waitsAfterRouteChange(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	old, changed := routeWith(now), routeWith(now)
	applied := metav1.NewTime(now.Add(-10 * time.Second))
	changed.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: objects.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, Time: &applied}}
	seen := Observation{Deployment: seenDeployment(done, 2, 2, 2),
		Gateways: objects.Gateways{client.ObjectKey{Namespace: "ns", Name: "g"}: &gatewayv1.Gateway{}}}
	for route, next := range map[*gatewayv1.HTTPRoute]time.Duration{old: 0, changed: 20 * time.Second} {
		seen.HTTPRoute = route
		report := Evaluate(support.Echo("ns", "x", behindGateway), seen, nil, now)
		if silent := report.Status.Phase == v1.PhaseWarning; silent != (next == 0) || report.Next != next {
			t.Errorf("the phase is %s, and the next reconcile is in %s", report.Status.Phase, report.Next)
		}
	}
}

func TestTransitions_ofRoutes(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	echo, there := support.Echo("ns", "x", behindGateway), objects.Gateways{client.ObjectKey{Namespace: "ns", Name: "g"}: &gatewayv1.Gateway{}}
	refused := routeWith(now, metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse, Reason: "NoMatchingParent", Message: "no"})
	accepted := routeWith(now, metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue})
	for _, step := range []struct {
		route *gatewayv1.HTTPRoute
		want  []string
	}{
		{accepted, []string{"Ready"}}, {refused, []string{"RouteNotAccepted"}}, {refused, nil}, {accepted, []string{"RouteAccepted"}},
		{accepted, nil}, {refused, []string{"RouteNotAccepted"}}, {nil, nil}, {nil, nil},
	} {
		echo.Spec.Gateway.Enabled = new(step.route != nil)
		report := Evaluate(echo, Observation{Deployment: seenDeployment(done, 2, 2, 2), HTTPRoute: step.route, Gateways: there}, nil, now)
		var got []string
		for _, transition := range report.Transitions {
			got = append(got, transition.Reason.String())
		}
		if len(got) != len(step.want) || len(got) > 0 && got[0] != step.want[0] {
			t.Errorf("got the events %v, want %v", got, step.want)
		}
		echo.Status = report.Status
	}
}

func TestNotesOn(t *testing.T) {
	ingress := func(class string) func(*v1.Echo) {
		return func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a.example.com", ClassName: class}
		}
	}
	addressed := &networkingv1.Ingress{Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
		Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}}}}
	checks := func(results ...v1.CheckResult) func(*v1.Echo) {
		return func(e *v1.Echo) {
			for i, result := range results {
				e.Status.Checks = append(e.Status.Checks, v1.EchoCheckStatus{Name: string(rune('a' + i)), Result: result, Message: "Why."})
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*v1.Echo)
		seen   Observation
		want   []string
	}{
		"nothing":                   {func(*v1.Echo) {}, Observation{}, nil},
		"an Ingress that is new":    {ingress("nginx"), Observation{}, nil},
		"an Ingress with a class":   {ingress("nginx"), Observation{Ingress: &networkingv1.Ingress{}}, []string{"The Ingress has no address yet. Check that a controller uses the IngressClass nginx."}},
		"an Ingress without one":    {ingress(""), Observation{Ingress: &networkingv1.Ingress{}}, []string{"The Ingress has no address yet. Unless the cluster has a default IngressClass, set spec.ingress.className."}},
		"an Ingress with a address": {ingress("nginx"), Observation{Ingress: addressed}, nil},
		"no Route":                  {ingress("nginx"), Observation{Ingress: &networkingv1.Ingress{}, NoRoute: "Set a host."}, []string{"Set a host."}},
		"a contested field":         {func(*v1.Echo) {}, Observation{Contested: "spec.replicas of the Deployment"}, []string{"Another client keeps changing spec.replicas of the Deployment. Stop it, or change the Echo instead."}},
		"a missing companion":       {func(*v1.Echo) {}, Observation{MissingCompanions: 1}, []string{"1 companion is missing. The events of the Echo may give the reason."}},
		"missing companions":        {func(*v1.Echo) {}, Observation{MissingCompanions: 2}, []string{"2 companions are missing. The events of the Echo may give the reasons."}},
		"checks that passed":        {checks(v1.CheckPassed, v1.CheckPassed), Observation{}, nil},
		"a check without a result":  {checks(v1.CheckPassed, v1.CheckUnknown), Observation{}, []string{"Check b has no result: Why."}},
		"a check that failed": {checks(v1.CheckUnknown, v1.CheckFailed, v1.CheckFailed), Observation{}, []string{"Check b failed: Why. " +
			"See the log of its pod on the Resources tab, or run 'kubectl logs -n ns -l app.kubernetes.io/instance=x,echoes.example.com/check=b --tail=-1'."}},
		"a check with many findings": {func(e *v1.Echo) {
			e.Status.Checks = []v1.EchoCheckStatus{{Name: "a", Result: v1.CheckFailed, Message: strings.Repeat("A is 1, expected 2. ", 50)}}
		}, Observation{}, []string{"Check a failed: A is 1, expected 2. A is 1, expected 2. A is 1, expected 2. A is 1, expected 2. A is 1, expected 2. A is 1,... " +
			"See the log of its pod on the Resources tab, or run 'kubectl logs -n ns -l app.kubernetes.io/instance=x,echoes.example.com/check=a --tail=-1'."}},
		"everything that a NetworkPolicy drops": {func(e *v1.Echo) {
			e.Spec.NetworkPolicy, e.Spec.Service.Type = &v1.EchoNetworkPolicy{Enabled: new(true)}, corev1.ServiceTypeNodePort
			e.Spec.Gateway, e.Spec.Monitoring = &v1.EchoGateway{Enabled: new(true)}, &v1.EchoMonitoring{Enabled: new(true)}
		}, Observation{}, []string{"The NetworkPolicy drops traffic from the Gateways, node ports, and Prometheus. " +
			"Add a namespaceSelector or an ipBlock for this traffic to spec.networkPolicy.from."}},
		"what a NetworkPolicy drops": {func(e *v1.Echo) {
			e.Spec.NetworkPolicy, e.Spec.Service.Type = &v1.EchoNetworkPolicy{Enabled: new(true)}, corev1.ServiceTypeNodePort
		}, Observation{}, []string{"The NetworkPolicy drops traffic from node ports. Add a namespaceSelector or an ipBlock for this traffic to spec.networkPolicy.from."}},
	} {
		got := notesOn(support.Echo("ns", "x", c.change), c.seen)
		NewWithT(t).Expect(strings.Join(got, "|")).To(Equal(strings.Join(c.want, "|")), name)
	}
}
