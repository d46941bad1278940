package apply

import (
	"maps"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

// childOf changes an Echo that has all fields set, and returns the Echo's child of the given kind.
func childOf(t *testing.T, kind string, changes ...func(*v1.Echo)) objects.Child {
	t.Helper()
	echo := support.Echo("ns", "x", append([]func(*v1.Echo){support.EveryField}, changes...)...)
	all, err := objects.Desired(echo, objects.Config{Images: objects.Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, c := range all {
		if c.Kind == kind {
			return c
		}
	}
	t.Fatalf("no child is a %s", kind)
	return objects.Child{}
}

// foreign is an edit that another client makes to a child.
type foreign struct {
	kind   string
	change func(*testing.T, *stored)
}

// by returns an edit to objects of one Go type.
func by[T client.Object](kind string, change func(T)) foreign {
	return foreign{kind, func(t *testing.T, s *stored) { edit(t, s, change) }}
}

func byDeployment(change func(*appsv1.Deployment)) foreign { return by("Deployment", change) }

func byPod(change func(*corev1.PodSpec)) foreign {
	return byDeployment(func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec) })
}

func byService(change func(*corev1.Service)) foreign { return by("Service", change) }

func byPolicy(change func(*networkingv1.NetworkPolicySpec)) foreign {
	return by("NetworkPolicy", func(p *networkingv1.NetworkPolicy) { change(&p.Spec) })
}

// TestCompare_detectsForeignEdits covers fields that were affected by bugs in the past.
func TestCompare_detectsForeignEdits(t *testing.T) {
	anywhere := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}
	for name, c := range map[string]foreign{
		"another value":       byDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(7)) }),
		"the owner removed":   byDeployment(func(d *appsv1.Deployment) { d.OwnerReferences = nil }),
		"no managed fields":   byDeployment(func(d *appsv1.Deployment) { d.ManagedFields = []metav1.ManagedFieldsEntry{{}} }),
		"a key of a selector": byService(func(s *corev1.Service) { s.Spec.Selector["more"] = "narrow" }),
		"a source range": byService(func(s *corev1.Service) {
			s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, "0.0.0.0/0")
		}),
		"the number of a port":    byService(func(s *corev1.Service) { s.Spec.Ports[0].Port = 99 }),
		"the protocol of a port":  byService(func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP }),
		"a peer":                  byPolicy(func(p *networkingv1.NetworkPolicySpec) { p.Ingress[0].From = append(p.Ingress[0].From, anywhere) }),
		"an egress rule":          byPolicy(func(p *networkingv1.NetworkPolicySpec) { p.Egress = []networkingv1.NetworkPolicyEgressRule{{}} }),
		"a key of a budget":       by("PodDisruptionBudget", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["more"] = "narrow" }),
		"a toleration, extended":  byPod(func(p *corev1.PodSpec) { p.Tolerations[0].Effect = corev1.TaintEffectNoExecute }),
		"a constraint's key":      byPod(func(p *corev1.PodSpec) { p.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway }),
		"a constraint's selector": byPod(func(p *corev1.PodSpec) { p.TopologySpreadConstraints[0].LabelSelector.MatchLabels["more"] = "narrow" }),
		"the name of a container": byPod(func(p *corev1.PodSpec) { p.Containers[0].Name = "renamed" }),
		"the name of a variable":  byPod(func(p *corev1.PodSpec) { p.Containers[0].Env[0].Name = "RENAMED" }),
		"the order of variables":  byPod(func(p *corev1.PodSpec) { slices.Reverse(p.Containers[0].Env) }),
		"an argument":             byPod(func(p *corev1.PodSpec) { p.Containers[0].Args = append(p.Containers[0].Args, "-x") }),
	} {
		t.Run(name, func(t *testing.T) {
			child := childOf(t, c.kind)
			s := store(t, child)
			s.expectMatch(t, child, true)
			before := s.live(t)
			c.change(t, s)
			s.expectMatch(t, child, false)
			s.repair(t, child)
			s.expectMatch(t, child, true)
			expectSameSpec(t, before, s.live(t))
		})
	}
}

func TestCompare_ignoresForeignAdditions(t *testing.T) {
	sidecar := corev1.Container{Name: "sidecar", Image: "mesh",
		Ports: []corev1.ContainerPort{{ContainerPort: 99, Protocol: corev1.ProtocolTCP}}}
	for name, c := range map[string]foreign{
		"a field":       byDeployment(func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 5 }),
		"a status":      byDeployment(func(d *appsv1.Deployment) { d.Status.Replicas = 2 }),
		"an annotation": byDeployment(func(d *appsv1.Deployment) { d.Annotations["theirs"] = "yes" }),
		"a container":   byPod(func(p *corev1.PodSpec) { p.Containers = append([]corev1.Container{sidecar}, p.Containers...) }),
		"a variable": byPod(func(p *corev1.PodSpec) {
			p.Containers[0].Env = append(p.Containers[0].Env, corev1.EnvVar{Name: "THEIRS"})
		}),
		"a constraint": byPod(func(p *corev1.PodSpec) {
			p.TopologySpreadConstraints = append(p.TopologySpreadConstraints,
				corev1.TopologySpreadConstraint{TopologyKey: "theirs", WhenUnsatisfiable: corev1.DoNotSchedule, MaxSkew: 1})
		}),
		"a port": byService(func(s *corev1.Service) {
			s.Spec.Ports = append(s.Spec.Ports,
				corev1.ServicePort{Name: "theirs", Port: 99, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(9)})
		}),
		"how requests are routed": byService(func(s *corev1.Service) {
			s.Spec.SessionAffinity, s.Spec.InternalTrafficPolicy = corev1.ServiceAffinityClientIP, new(corev1.ServiceInternalTrafficPolicyLocal)
		}),
		"a port, twice": byPod(func(p *corev1.PodSpec) {
			p.Containers[0].Ports = append(p.Containers[0].Ports, corev1.ContainerPort{ContainerPort: 5, Protocol: corev1.ProtocolTCP, Name: "a"},
				corev1.ContainerPort{ContainerPort: 5, Protocol: corev1.ProtocolTCP, Name: "b"})
		}),
		"another owner": byDeployment(func(d *appsv1.Deployment) {
			d.OwnerReferences = append(d.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "A", Name: "a", UID: "a"})
		}),
		"a pull Secret": byPod(func(p *corev1.PodSpec) {
			p.ImagePullSecrets = append(p.ImagePullSecrets, corev1.LocalObjectReference{Name: "theirs"})
		}),
		"another policy": by("Ingress", func(i *networkingv1.Ingress) { i.Spec.DefaultBackend = &networkingv1.IngressBackend{} }),
	} {
		t.Run(name, func(t *testing.T) {
			child := childOf(t, c.kind)
			s := store(t, child)
			c.change(t, s)
			changed := s.live(t)
			s.expectMatch(t, child, true)
			if got, err := Compare(child, changed); err != nil || !got.Renamed.Empty() {
				t.Errorf("Compare mistakes %v for the operator's: %v", got.Renamed, err)
			}
			s.repair(t, child)
			expectSameSpec(t, changed, s.live(t))
		})
	}
}

// TestCompare_renamesItemWithDesiredName checks that the operator removes another client's port if it has the name of a desired port. The
// API server rejects two ports with the same name.
func TestCompare_renamesItemWithDesiredName(t *testing.T) {
	named := func(name string) objects.Child {
		return childOf(t, "Service", func(e *v1.Echo) { e.Spec.Service.PortName = name })
	}
	s := store(t, named("web"))
	edit(t, s, func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "other", Port: 99, Protocol: corev1.ProtocolTCP},
			corev1.ServicePort{Name: "theirs", Port: 98, Protocol: corev1.ProtocolTCP})
		s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "A", Name: "x", UID: "a"})
	})
	s.repair(t, named("other"))
	s.expectMatch(t, named("other"), true)
	ports := map[string]int32{}
	for _, port := range s.live(t).(*corev1.Service).Spec.Ports {
		ports[port.Name] += port.Port
	}
	NewWithT(t).Expect(ports).To(Equal(map[string]int32{"other": 444, "https": 443, "theirs": 98}))
	NewWithT(t).Expect(s.live(t).GetOwnerReferences()).To(HaveLen(2), "an owner of the same name stays")
}

func TestDeployment_roundsUpQuantities(t *testing.T) {
	child := childOf(t, "Deployment", func(e *v1.Echo) {
		e.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.0005")}}
	})
	live := store(t, child).live(t).(*appsv1.Deployment)
	NewWithT(t).Expect(live.Spec.Template.Spec.Containers[0].Resources.Limits.Cpu().String()).To(Equal("1m"))
}

// TestCompare_replacesIngressOfAnotherClass covers the default class, which the API server sets only when it creates an Ingress.
func TestCompare_replacesIngressOfAnotherClass(t *testing.T) {
	class := func(name string) objects.Child {
		return childOf(t, "Ingress", func(e *v1.Echo) { e.Spec.Ingress.ClassName = name })
	}
	expectReplaced(t, map[string]edited{
		"no longer set": {class("a"), class(""), true},
		"another":       {class("a"), class("b"), false},
		"set":           {class(""), class("b"), false},
		"never set":     {class(""), class(""), false},
		"another kind":  {childOf(t, "Service"), childOf(t, "Service"), false},
	})
}

// edited is a child before and after a change, and whether the change requires that the object is replaced.
type edited struct {
	before, after objects.Child
	replaced      bool
}

func expectReplaced(t *testing.T, cases map[string]edited) {
	t.Helper()
	for name, c := range cases {
		if got, err := Compare(c.after, store(t, c.before).live(t)); got.Replace != c.replaced || err != nil {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// TestRecreateForClass covers the load balancer class, which cannot change while the Service remains a load balancer.
func TestRecreateForClass(t *testing.T) {
	service := func(kind corev1.ServiceType, class string) objects.Child {
		return childOf(t, "Service", func(e *v1.Echo) { e.Spec.Service = v1.EchoService{Type: kind, Port: 80, LoadBalancerClass: class} })
	}
	balancer := func(class string) objects.Child { return service(corev1.ServiceTypeLoadBalancer, class) }
	expectReplaced(t, map[string]edited{
		"no longer set":          {balancer("a.b/c"), balancer(""), true},
		"another":                {balancer("a.b/c"), balancer("a.b/d"), true},
		"set":                    {balancer(""), balancer("a.b/d"), true},
		"the same":               {balancer("a.b/c"), balancer("a.b/c"), false},
		"no longer a balancer":   {balancer("a.b/c"), service(corev1.ServiceTypeNodePort, ""), false},
		"a balancer from now on": {service(corev1.ServiceTypeNodePort, ""), balancer("a.b/c"), false},
	})
}

// serviceOf returns the Service of an Echo that sets the given IP family policy and IP families.
func serviceOf(t *testing.T, policy corev1.IPFamilyPolicy, families ...corev1.IPFamily) objects.Child {
	return childOf(t, "Service", func(e *v1.Echo) {
		e.Spec.Service = v1.EchoService{Type: corev1.ServiceTypeClusterIP, Port: 80, IPFamilyPolicy: policy, IPFamilies: families}
	})
}

const (
	single, prefer, require = corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack
	four, six               = corev1.IPv4Protocol, corev1.IPv6Protocol
)

// TestRecreateForFamilies checks which changes require the Service to be recreated. The primary IP family cannot be changed, and the API
// server keeps fields that are no longer set.
func TestRecreateForFamilies(t *testing.T) {
	expectReplaced(t, map[string]edited{
		"another primary one":        {serviceOf(t, single, four), serviceOf(t, single, six), true},
		"the other way round":        {serviceOf(t, prefer, four, six), serviceOf(t, prefer, six, four), true},
		"a second one":               {serviceOf(t, single, four), serviceOf(t, prefer, four, six), false},
		"no second one":              {serviceOf(t, prefer, four, six), serviceOf(t, single, four), false},
		"the same":                   {serviceOf(t, prefer, four, six), serviceOf(t, require, four, six), false},
		"none anymore":               {serviceOf(t, single, four), serviceOf(t, single), true},
		"some":                       {serviceOf(t, single), serviceOf(t, single, four), false},
		"no policy, after two":       {serviceOf(t, prefer), serviceOf(t, ""), true},
		"no policy, after one":       {serviceOf(t, single), serviceOf(t, ""), false},
		"a policy":                   {serviceOf(t, ""), serviceOf(t, require), false},
		"the policy of one":          {serviceOf(t, require), serviceOf(t, single), false},
		"none at any time":           {serviceOf(t, ""), serviceOf(t, ""), false},
		"a policy, the families not": {serviceOf(t, ""), serviceOf(t, prefer, six), false},
	})
}

func TestRecreateForFamilies_keepsForeignPolicy(t *testing.T) {
	s := store(t, serviceOf(t, ""))
	edit(t, s, func(s *corev1.Service) {
		s.Spec.IPFamilyPolicy, s.Spec.IPFamilies = new(prefer), []corev1.IPFamily{six, four}
	})
	s.expectMatch(t, serviceOf(t, ""), true)
	other := serviceOf(t, "")
	other.Desired.SetAnnotations(map[string]string{"a": "b"})
	if got, err := Compare(other, s.live(t)); got.Replace || got.None || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestWithSecondFamily covers dual-stack policies, for which the API server adds the second family to the list.
func TestWithSecondFamily(t *testing.T) {
	g := NewWithT(t)
	for name, c := range map[string]struct {
		wanted   objects.Child
		live     []corev1.IPFamily
		families []string
	}{
		"added":                         {serviceOf(t, prefer, six), []corev1.IPFamily{six, four}, []string{"IPv6", "IPv4"}},
		"added by the policy of others": {serviceOf(t, "", six), []corev1.IPFamily{six, four}, []string{"IPv6", "IPv4"}},
		"not desired":                   {serviceOf(t, single, six), []corev1.IPFamily{six, four}, []string{"IPv6"}},
		"a cluster of one":              {serviceOf(t, prefer, six), []corev1.IPFamily{six}, []string{"IPv6"}},
		"another primary one":           {serviceOf(t, prefer, four), []corev1.IPFamily{six, four}, []string{"IPv4"}},
		"none desired":                  {serviceOf(t, prefer), []corev1.IPFamily{six, four}, nil},
		"both desired":                  {serviceOf(t, prefer, six, four), []corev1.IPFamily{six}, []string{"IPv6", "IPv4"}},
	} {
		before := objects.Child{Desired: c.wanted.Desired.DeepCopy()}
		got := withLive(c.wanted, &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: c.live}})
		g.Expect(familiesOf(got)).To(HaveExactElements(c.families), name)
		g.Expect(familiesOf(before)).To(HaveExactElements(familiesOf(c.wanted)), "%s: the desired object was changed", name)
	}
	s := store(t, serviceOf(t, prefer, six))
	s.apply(t, withLive(serviceOf(t, prefer, six), &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{six, four}}}))
	s.expectMatch(t, withLive(serviceOf(t, prefer, six), s.live(t)), true)
}

// withLive returns a child as childWriter compares it with the live object.
func withLive(c objects.Child, live client.Object) objects.Child {
	c.Desired = c.MergeLive(c.Desired, live)
	return c
}

func familiesOf(service objects.Child) []string {
	families, _, _ := unstructured.NestedStringSlice(service.Desired.Object, "spec", "ipFamilies")
	return families
}

// childrenOf returns all objects that an Echo requires, including a companion.
func childrenOf(t *testing.T, echo *v1.Echo) []objects.Child {
	t.Helper()
	config := objects.Config{Images: objects.Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}, Served: objects.Served{}}
	for _, kind := range objects.Table() {
		config.Served[kind.Kind] = true
	}
	all, err := objects.Desired(echo, config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	companion, err := objects.Companion(objects.LabeledPodOf(support.PodWithCompanionLabel()), echo, config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(append(all, companion), func(c objects.Child) bool { return c.Desired == nil })
}

// TestCompare_matchesAppliedChild checks that an applied child matches its desired state. Otherwise, every reconcile would apply it again.
func TestCompare_matchesAppliedChild(t *testing.T) {
	for _, echo := range support.Variants() {
		for _, c := range compared(childrenOf(t, echo)) {
			if got, err := Compare(c, store(t, c).live(t)); err != nil || !got.None {
				t.Fatalf("a %s does not match the applied object: %v\n%v", c.Kind, err, c.Desired.Object)
			}
		}
	}
}

// compared returns the children except the companion, which the operator does not compare, but replaces if its digest differs.
func compared(all []objects.Child) []objects.Child {
	return slices.DeleteFunc(all, func(c objects.Child) bool { return c.Kind == "Pod" })
}

// TestCompare_detectsEveryChange changes or removes one value at a time in each child.
func TestCompare_detectsEveryChange(t *testing.T) {
	echo := support.EchoOfCompanions(support.EveryField, func(e *v1.Echo) { e.Spec.Gateway = nil })
	for _, c := range compared(childrenOf(t, echo)) {
		live := store(t, c).live(t)
		for i := range leaves(c.Desired.Object) {
			for _, name := range []string{"changed", "removed"} {
				spoiled := c
				spoiled.Desired = c.Desired.DeepCopy()
				at := leaves(spoiled.Desired.Object)[i]
				if isIdentity(at) {
					continue
				}
				map[string]func(){"changed": at.change, "removed": at.remove}[name]()
				if parent, isMap := at.parent.(map[string]any); isMap && len(parent) == 0 {
					continue // an empty map that is set as a whole matches any map
				}
				if got, err := Compare(spoiled, live); err == nil && got.None {
					t.Fatalf("a %s still matches although %v is %s", c.Kind, at.key, name)
				}
			}
		}
	}
}

// isIdentity reports whether a leaf is part of the object's identity: its version, kind, namespace, or name.
func isIdentity(l leaf) bool {
	parent, _ := l.parent.(map[string]any)
	return parent["apiVersion"] != nil && parent["metadata"] != nil || parent["ownerReferences"] != nil && (l.key == "name" ||
		l.key == "namespace")
}

// leaf is a value, other than a map or a list, in a tree.
type leaf struct {
	parent any // the map or list that contains the leaf
	key    any
	change func()
	remove func() // removes the leaf from a map, or empties it in a list
}

// leaves returns the leaves of a tree in a fixed order.
func leaves(tree any) (all []leaf) {
	add := func(value any, l leaf) {
		switch value.(type) {
		case map[string]any, []any:
			all = append(all, leaves(value)...)
		default:
			all = append(all, l)
		}
	}
	switch tree := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			add(tree[key], leaf{tree, key, func() { tree[key] = "changed" }, func() { delete(tree, key) }})
		}
	case []any:
		for i := range tree {
			add(tree[i], leaf{tree, i, func() { tree[i] = "changed" }, func() { tree[i] = nil }})
		}
	}
	return all
}

// repair makes a stored object match its child, as the operator does.
func (s *stored) repair(t *testing.T, c objects.Child) {
	t.Helper()
	g := NewWithT(t)
	live := s.live(t)
	difference, err := Compare(c, live)
	g.Expect(err).NotTo(HaveOccurred())
	if !difference.Renamed.Empty() {
		g.Expect(GiveToOperator(live, difference.Renamed, c.Desired.GetAPIVersion())).To(Succeed())
		s.update(t, live)
	}
	s.apply(t, c)
}

// expectSameSpec fails the test if two objects differ in anything other than their managed fields.
func expectSameSpec(t *testing.T, want, got client.Object) {
	t.Helper()
	g := NewWithT(t)
	content := func(object client.Object) map[string]any {
		object = object.DeepCopyObject().(client.Object)
		object.SetManagedFields(nil)
		all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		g.Expect(err).NotTo(HaveOccurred())
		return all
	}
	g.Expect(content(got)).To(BeComparableTo(content(want)))
}

// TestCompare_keepsForeignPort edits both the number and the name of a port, so that nothing identifies the port as the operator's.
func TestCompare_keepsForeignPort(t *testing.T) {
	g := NewWithT(t)
	child := childOf(t, "Service")
	s := store(t, child)
	edit(t, s, func(o *corev1.Service) { o.Spec.Ports[0].Port, o.Spec.Ports[0].Name = 99, "theirs" })
	s.repair(t, child)
	ports := s.live(t).(*corev1.Service).Spec.Ports
	g.Expect(ports).To(HaveLen(3))
	g.Expect(ports[0].Name).To(Equal("theirs"))
	s.expectMatch(t, child, true)
}

// TestCompare_keepsSimilarContainer renames a container and removes one of its variables, so that it is not the desired container.
func TestCompare_keepsSimilarContainer(t *testing.T) {
	child := childOf(t, "Deployment")
	s := store(t, child)
	byPod(func(p *corev1.PodSpec) { p.Containers[0].Name, p.Containers[0].Env = "theirs", p.Containers[0].Env[1:] }).change(t, s)
	if got, err := Compare(child, s.live(t)); err != nil || !got.Renamed.Empty() {
		t.Errorf("got %v, %v", got.Renamed, err)
	}
}

// TestCompare_keepsUndesiredItem checks that an item that is no longer desired does not count as renamed: an apply removes it.
func TestCompare_keepsUndesiredItem(t *testing.T) {
	s := store(t, childOf(t, "Service"))
	changed := childOf(t, "Service", func(e *v1.Echo) { e.Spec.Service.Port = 90 })
	if got, err := Compare(changed, s.live(t)); err != nil || !got.Renamed.Empty() {
		t.Errorf("got %v, %v", got.Renamed, err)
	}
}

func TestGiveToOperator(t *testing.T) {
	g := NewWithT(t)
	fields := metav1.NewFieldsV1
	object := &corev1.Service{ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "a", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: fields(`{"f:spec":{"f:type":{}}}`)},
		{Manager: "b", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: fields(`{"f:spec":{"f:type":{},"f:more":{}}}`)},
	}}
	given := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "type"))
	g.Expect(GiveToOperator(object, given, "v1")).To(Succeed())
	want := []metav1.ManagedFieldsEntry{
		{Manager: "b", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: fields(`{"f:spec":{"f:more":{}}}`)},
		{Manager: "echo-operator", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: fields(`{"f:spec":{"f:type":{}}}`)},
	}
	g.Expect(object.ManagedFields).To(BeComparableTo(want))
}

func TestFieldsOf_rejectsInvalidManagedFields(t *testing.T) {
	g := NewWithT(t)
	child := childOf(t, "Service")
	live := store(t, child).live(t)
	live.GetManagedFields()[0].FieldsV1.SetRawString("no")
	g.Expect(Compare(child, live)).Error().To(HaveOccurred(), "Compare hides the error")
	g.Expect(GiveToOperator(live, fieldpath.NewSet(), "v1")).To(HaveOccurred(), "GiveToOperator hides the error")
}

// TestKeysOf_matchesSchema compares the keys of each list item that the operator sets with the API server's schema.
func TestKeysOf_matchesSchema(t *testing.T) {
	g, lists := NewWithT(t), map[string]bool{}
	for _, kind := range []string{"Deployment", "Service", "Ingress", "NetworkPolicy", "PodDisruptionBudget"} {
		child := childOf(t, kind)
		typed, err := serverTypes().ObjectToTyped(child.Desired)
		g.Expect(err).NotTo(HaveOccurred())
		fields, err := typed.ToFieldSet()
		g.Expect(err).NotTo(HaveOccurred())
		fields.Iterate(func(path fieldpath.Path) {
			list, last := path[:len(path)-1], path[len(path)-1]
			if last.Key == nil {
				return
			}
			lists[*list[len(list)-1].FieldName] = true
			item, keys := any(child.Desired.Object), []string{}
			for _, element := range path {
				item, _ = at(item, element)
			}
			for _, key := range *last.Key {
				keys = append(keys, key.Name)
			}
			g.Expect(keysOf(list, item)).To(ConsistOf(keys), "%s %s", kind, path)
		})
	}
	g.Expect(lists).To(HaveLen(8))
}

// stored is an object in a fake API server that supports server-side apply, but neither defaulting nor validation.
type stored struct {
	child  objects.Child
	fields managedfieldstest.TestFieldManager
}

// serverTypes returns all types that the API server knows, including those that the operator does not compare.
var serverTypes = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(clientgoscheme.Scheme) })

// store applies a child to an empty API server, and returns the stored object.
func store(t *testing.T, c objects.Child) *stored {
	t.Helper()
	s := &stored{c, managedfieldstest.NewTestFieldManager(serverTypes(), c.Desired.GroupVersionKind())}
	s.apply(t, c)
	return s
}

func (s *stored) apply(t *testing.T, c objects.Child) {
	t.Helper()
	NewWithT(t).Expect(s.fields.Apply(c.Desired.DeepCopy(), objects.FieldOwner, true)).To(Succeed())
}

// edit reads the object, changes it, and writes the whole object back, as a client does.
func edit[T client.Object](t *testing.T, s *stored, change func(T)) {
	t.Helper()
	object := s.live(t)
	change(object.(T))
	s.update(t, object)
}

// update replaces the whole object, as an update request does.
func (s *stored) update(t *testing.T, object client.Object) {
	t.Helper()
	g := NewWithT(t)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	g.Expect(err).NotTo(HaveOccurred())
	changed := &unstructured.Unstructured{Object: content}
	changed.SetGroupVersionKind(s.child.Desired.GroupVersionKind())
	g.Expect(s.fields.Update(changed, "editor")).To(Succeed())
}

// live returns the object in its Go type, as a client would read it.
func (s *stored) live(t *testing.T) client.Object {
	t.Helper()
	content := s.fields.Live().(*unstructured.Unstructured)
	live := s.child.NewObject()
	NewWithT(t).Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content.Object, live, true)).To(Succeed())
	live.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("")) // cached objects have no kind
	return live
}

func (s *stored) expectMatch(t *testing.T, c objects.Child, want bool) {
	t.Helper()
	if got, err := Compare(c, s.live(t)); got.None != want || err != nil {
		t.Errorf("Compare = %+v, %v; want %t", got, err, want)
	}
}
