package status

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestNotesOn(t *testing.T) {
	ingress := func(class string) func(*v1.Echo) {
		return func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", ClassName: class}
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
		"a check that failed":       {checks(v1.CheckUnknown, v1.CheckFailed, v1.CheckFailed), Observation{}, []string{"Check b failed: Why."}},
		"what a NetworkPolicy drops": {func(e *v1.Echo) {
			e.Spec.NetworkPolicy, e.Spec.Service.Type = &v1.EchoNetworkPolicy{Enabled: true}, corev1.ServiceTypeNodePort
		}, Observation{}, []string{"The NetworkPolicy drops traffic from node ports. Add a namespaceSelector or an ipBlock for this traffic to spec.networkPolicy.from."}},
	} {
		got := notesOn(support.Echo("ns", "x", c.change), c.seen)
		NewWithT(t).Expect(strings.Join(got, "|")).To(Equal(strings.Join(c.want, "|")), name)
	}
}

func TestRecord_keepsLatestDeployment(t *testing.T) {
	g := NewWithT(t)
	seen, older, newer := Observation{}, &appsv1.Deployment{}, &appsv1.Deployment{}
	seen.Record(&corev1.Service{})
	g.Expect(seen.Deployment).To(BeNil())
	seen.Record(nil) // a child that does not exist
	g.Expect(seen.Deployment).To(BeNil())
	seen.Record(older)
	seen.Record(newer) // as in the API server's response to the apply request
	seen.Record(&corev1.Service{})
	if seen.Deployment != newer {
		t.Errorf("got %p, want %p", seen.Deployment, newer)
	}
}
