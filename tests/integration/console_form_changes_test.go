package integration

import (
	"fmt"
	"math/rand"
	"net/netip"
	"reflect"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/consoleform"
)

// opened describes what may be less secure, or reachable in a different way, after the Echo has passed through the form.
func (m *made) opened(after *made) []string {
	GinkgoHelper()
	var problems []string
	if was, is := m.exposure(), after.exposure(); !reflect.DeepEqual(was, is) {
		problems = append(problems, fmt.Sprintf("exposed as %v, not as %v", is, was))
	}
	strict := m.echo.DeepCopy()
	strict.Spec.PodSecurityContext, strict.Spec.SecurityContext = nil, nil
	before, now, fallback := m.security(), after.security(), madeOf(strict).security()
	for where := range fallback {
		left := consoleform.Posted(nil, before[where], nil)
		isDefault := len(left) == 0 && reflect.DeepEqual(now[where], fallback[where])
		if !reflect.DeepEqual(now[where], left) && !isDefault {
			problems = append(problems, fmt.Sprintf("the security context of the %s is %v, not %v", where, now[where], left))
		}
	}
	random, old, next := rand.New(rand.NewSource(1)), m.policy(), after.policy()
	for range 400 {
		if v := anyVisitor(random); v.mayConnect(next) && !v.mayConnect(old) {
			return append(problems, fmt.Sprintf("%+v may connect", v))
		}
	}
	return problems
}

// lost returns the spec fields that the form changed in a way that changes the Echo's objects.
func (m *made) lost(after *made) []string {
	GinkgoHelper()
	var lost []string
	before, now := asMap(m.echo.Spec), asMap(after.echo.Spec)
	for name, value := range before {
		if reflect.DeepEqual(value, now[name]) {
			continue
		}
		echo := &v1.Echo{}
		with := asMap(after.echo)
		with["spec"].(map[string]any)[name] = value
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(with, echo)).To(Succeed())
		if !reflect.DeepEqual(madeOf(echo).objects, after.objects) {
			lost = append(lost, name)
		}
	}
	return lost
}

// exposure returns the processes that an Echo runs, and the objects through which clients reach them.
func (m *made) exposure() map[string]any {
	exposure := map[string]any{"replicas": m.echo.Spec.DesiredReplicas()}
	for kind, object := range m.objects {
		switch kind {
		case "Deployment":
			exposure["image"], exposure["ports"] = m.container()["image"], m.container()["ports"]
		case "NetworkPolicy": // the specs compare the visitors that the policy admits
		case "Service", "Ingress", "HTTPRoute", "GRPCRoute", "BackendTLSPolicy", "PodDisruptionBudget":
			exposure[kind] = object.Object["spec"]
		default: // the CronJob of a check, whose pods have the same placement as the echo pods
			schedule, _, _ := unstructured.NestedString(object.Object, "spec", "schedule")
			pods, _, _ := unstructured.NestedSlice(object.Object, "spec", "jobTemplate", "spec", "template", "spec", "containers")
			exposure[kind] = []any{schedule, pods[0].(map[string]any)["args"]}
		}
	}
	return exposure
}

func (m *made) pod() map[string]any {
	spec := m.objects["Deployment"].Object["spec"].(map[string]any)
	return spec["template"].(map[string]any)["spec"].(map[string]any)
}

func (m *made) container() map[string]any { return m.pod()["containers"].([]any)[0].(map[string]any) }

// security returns the security contexts in the Deployment's pod template.
func (m *made) security() map[string]map[string]any {
	ofPod, _ := m.pod()["securityContext"].(map[string]any)
	ofContainer, _ := m.container()["securityContext"].(map[string]any)
	return map[string]map[string]any{"pod": ofPod, "container": ofContainer}
}

// visitor is a pod that connects to an echo server.
type visitor struct {
	own            bool // the visitor is in the Echo's namespace
	pod, namespace labels.Set
	address        netip.Addr
}

// anyVisitor returns a random visitor that the peers of a random policy may select.
func anyVisitor(random *rand.Rand) visitor {
	set := func() labels.Set {
		set := labels.Set{}
		for _, key := range []string{"example.org/a", "b", "c", "one", "two", "three-3"} {
			if values := []string{"one", "two", "three-3", "", "x"}; random.Intn(2) == 0 {
				set[key] = values[random.Intn(len(values))]
			}
		}
		return set
	}
	v := visitor{own: random.Intn(2) == 0, pod: set(), address: netip.AddrFrom4([4]byte{10, byte(random.Intn(3)), 1, 1})}
	if !v.own {
		v.namespace = set()
	}
	return v
}

// policy returns the Echo's NetworkPolicy, or nil if it has none.
func (m *made) policy() *networkingv1.NetworkPolicy {
	GinkgoHelper()
	if m.objects["NetworkPolicy"] == nil {
		return nil
	}
	policy := &networkingv1.NetworkPolicy{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(m.objects["NetworkPolicy"].Object, policy)).To(Succeed())
	return policy
}

// mayConnect reports whether a NetworkPolicy allows a visitor to connect to the echo servers.
func (v visitor) mayConnect(policy *networkingv1.NetworkPolicy) bool {
	return policy == nil || slices.ContainsFunc(policy.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
		return len(rule.From) == 0 || slices.ContainsFunc(rule.From, v.isPeer)
	})
}

func (v visitor) isPeer(peer networkingv1.NetworkPolicyPeer) bool {
	GinkgoHelper()
	if block := peer.IPBlock; block != nil {
		return within(block.CIDR, v.address) && !slices.ContainsFunc(block.Except, func(cidr string) bool { return within(cidr, v.address) })
	}
	if peer.NamespaceSelector == nil && !v.own {
		return false
	}
	selects := func(selector *metav1.LabelSelector, set labels.Set) bool {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		Expect(err).NotTo(HaveOccurred())
		return selector == nil || parsed.Matches(set)
	}
	return selects(peer.NamespaceSelector, v.namespace) && selects(peer.PodSelector, v.pod)
}

func within(cidr string, address netip.Addr) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Contains(address)
}
