package status

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
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
	quota := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-echo-1",
		errors.New("exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"))
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
		"a companion that is rejected": {func(*v1.Echo) {}, Observation{CompanionError: &children.RequestError{
			Kind: "Pod", Key: client.ObjectKey{Name: "web-echo-1"}, Err: quota}},
			[]string{"The resource quota few has no room for the Pod web-echo-1 (pods): \"requested: pods=1, used: pods=2, limited: pods=2\". Raise it, or delete other objects."}},
		"a companion and an error that may be over soon": {func(*v1.Echo) {}, Observation{CompanionError: errors.New("no response")}, nil},
		"checks that passed":                             {checks(v1.CheckPassed, v1.CheckPassed), Observation{}, nil},
		"a check without a result":                       {checks(v1.CheckPassed, v1.CheckUnknown), Observation{}, []string{"Check b has no result: Why."}},
		"a check that failed":                            {checks(v1.CheckUnknown, v1.CheckFailed, v1.CheckFailed), Observation{}, []string{"Check b failed: Why."}},
		"what a NetworkPolicy drops": {func(e *v1.Echo) {
			e.Spec.NetworkPolicy, e.Spec.Service.Type = &v1.EchoNetworkPolicy{Enabled: true}, corev1.ServiceTypeNodePort
		}, Observation{}, []string{"The NetworkPolicy drops traffic from node ports. Add a namespaceSelector or an ipBlock for this traffic to spec.networkPolicy.from."}},
	} {
		got := notesOn(support.Echo("ns", "x", c.change), c.seen)
		NewWithT(t).Expect(strings.Join(got, "|")).To(Equal(strings.Join(c.want, "|")), name)
	}
}
