package objects

import (
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/randfill"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// TestPodOf_readsOnlyCachedFields checks that the caches keep everything that Pod and LabeledPod hold, in pods with random fields. Each field
// of the types must have a value in some pod, so that the test compares it.
func TestPodOf_readsOnlyCachedFields(t *testing.T) {
	texts := []string{"", ContainerName, tlsVolume, "s", "ImagePullBackOff", "Error", string(corev1.PodFailed), string(corev1.PodRunning),
		string(corev1.PodReady), string(corev1.PodScheduled), string(corev1.ConditionTrue), string(corev1.ConditionFalse), "ReplicaSet", "Pod",
		v1.AppliedHashAnnotation} // the names and values that the operator looks for
	random := rand.New(rand.NewSource(1))
	text := func() string { return texts[random.Intn(len(texts))] }
	fill := randfill.NewWithSeed(1).NilChance(.3).NumElements(1, 4).MaxDepth(10).Funcs(
		func(s *string, _ randfill.Continue) { *s = text() },
		func(i *int32, _ randfill.Continue) { *i = random.Int31n(2) },
		func(t *metav1.Time, _ randfill.Continue) { *t = metav1.Unix(random.Int63n(9), 0) },
		func(s *corev1.PodConditionType, _ randfill.Continue) { *s = corev1.PodConditionType(text()) },
		func(s *corev1.ConditionStatus, _ randfill.Continue) { *s = corev1.ConditionStatus(text()) },
		func(s *corev1.PodPhase, _ randfill.Continue) { *s = corev1.PodPhase(text()) },
	)
	seen := map[string]bool{}
	for range 300 {
		full := &corev1.Pod{}
		fill.Fill(full)
		full.Labels = map[string]string{LabelName: checkNameValue, LabelInstance: full.Spec.NodeName, v1.CheckLabel: full.Spec.Hostname,
			v1.CompanionLabel: full.Spec.Subdomain}
		if owner := metav1.GetControllerOfNoCopy(full); owner != nil && owner.Kind == "Pod" { // random text would rarely match
			full.Name = companionName(owner.Name, owner.UID)
		}
		for _, c := range []struct {
			strip   func(any) (any, error)
			convert func(*corev1.Pod) any
		}{
			{Strip, func(pod *corev1.Pod) any { return PodOf(pod) }},
			{StripLabeledPod, func(pod *corev1.Pod) any { return LabeledPodOf(pod) }},
		} {
			stripped, err := c.strip(full.DeepCopy())
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			want := c.convert(full)
			if diff := cmp.Diff(want, c.convert(stripped.(*corev1.Pod)), cmp.AllowUnexported(Pod{}, LabeledPod{}, podBase{})); diff != "" {
				t.Fatalf("the cache lacks a field of %T: %s", want, diff)
			}
			for _, field := range reflect.VisibleFields(reflect.TypeOf(want).Elem()) {
				name := reflect.TypeOf(want).Elem().Name() + "." + field.Name
				seen[name] = seen[name] || !reflect.ValueOf(want).Elem().FieldByIndex(field.Index).IsZero()
			}
		}
	}
	for name, filled := range seen {
		if !filled {
			t.Errorf("%s is empty in all pods", name)
		}
	}
}

func TestObject_identifiesPod(t *testing.T) {
	want := &corev1.Pod{Namespace: "ns", Name: "p", UID: "u", ResourceVersion: "7"}
	full := want.DeepCopy()
	full.Labels, full.Spec.NodeName = map[string]string{"a": "b"}, "n"
	NewWithT(t).Expect(PodOf(full).Object()).To(BeComparableTo(want))
}

func TestStrip_eachKind(t *testing.T) {
	given := []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate,
		Subresource: "status"}, {Manager: FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
	own := PodMonitor(support.Echo("ns", "x", monitored)).Desired
	own.SetLabels(nil) // as if another client had removed them
	foreign := own.DeepCopy()
	foreign.SetOwnerReferences(nil)
	identity := NewPodMonitor()
	identity.SetNamespace("ns")
	identity.SetName("x")
	node := corev1.Node{
		Name: "n", UID: "u", ResourceVersion: "7", Spec: corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}},
	}
	fullNode := node.DeepCopy()
	fullNode.Labels, fullNode.Annotations, fullNode.ManagedFields = map[string]string{"a": "b"}, map[string]string{"c": "d"}, given
	fullNode.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}}
	gateway := gatewayv1.Gateway{
		Namespace: "ns", Name: "g", UID: "u", ResourceVersion: "7", Generation: 2,
		Spec:   gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{{Name: "l"}}},
		Status: gatewayv1.GatewayStatus{Addresses: []gatewayv1.GatewayStatusAddress{{Value: "10.0.0.1"}}},
	}
	fullGateway := gateway.DeepCopy()
	fullGateway.Labels, fullGateway.ManagedFields, fullGateway.Spec.GatewayClassName = map[string]string{"a": "b"}, given, "c"
	fullGateway.Status.Conditions = []metav1.Condition{{Type: "Programmed"}}
	echo := func(annotations map[string]string, fields []metav1.ManagedFieldsEntry) *v1.Echo {
		return &v1.Echo{Name: "x", Annotations: annotations, ManagedFields: fields, Spec: v1.EchoSpec{Replicas: new(int32(2))}}
	}
	for name, c := range map[string]struct{ full, want any }{
		"an Echo": {echo(map[string]string{"a": "b", corev1.LastAppliedConfigAnnotation: "{}"}, given),
			echo(map[string]string{"a": "b"}, nil)},
		"a child":                   {&corev1.Service{Name: "x", ManagedFields: slices.Clone(given)}, &corev1.Service{Name: "x", ManagedFields: given[1:]}},
		"the PodMonitor of an Echo": {own, own.DeepCopy()},
		"a foreign PodMonitor":      {foreign, identity},
		"a node":                    {fullNode, &node},
		"a Gateway":                 {fullGateway, &gateway},
	} {
		got, err := Strip(c.full)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), name)
		NewWithT(t).Expect(got).To(BeComparableTo(c.want), name)
	}
}

func TestStripLabeledPod(t *testing.T) {
	full := &corev1.Pod{
		Namespace: "ns", Name: "p", UID: "u", DeletionTimestamp: new(metav1.Now()),
		Labels: map[string]string{v1.CompanionLabel: "x", "app": "web"}, Annotations: map[string]string{"a": "b"},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", Name: "o", Controller: new(true)}},
		Spec:            corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{{Key: "k"}}, Containers: []corev1.Container{{Name: "c"}}},
		Status:          corev1.PodStatus{Phase: corev1.PodFailed, PodIP: "10.0.0.1"},
	}
	want := &corev1.Pod{
		Namespace: "ns", Name: "p", UID: "u", DeletionTimestamp: full.DeletionTimestamp,
		Labels: map[string]string{v1.CompanionLabel: "x"}, OwnerReferences: full.OwnerReferences,
		Spec:   corev1.PodSpec{NodeName: "n", Tolerations: full.Spec.Tolerations},
		Status: corev1.PodStatus{Phase: corev1.PodFailed},
	}
	got, err := StripLabeledPod(full)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestStrip_keepsOtherObjects(t *testing.T) {
	for _, object := range []any{cache.DeletedFinalStateUnknown{Key: "a"}, "b"} {
		for _, transform := range []func(any) (any, error){Strip, StripLabeledPod} {
			if got, err := transform(object); err != nil || got != object {
				t.Errorf("got %+v, %v", got, err)
			}
		}
	}
}
