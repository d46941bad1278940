package operator

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/randfill"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/discovery"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestEveryKindThatTheOperatorCreatesIsSelected(t *testing.T) {
	options := cacheOptions(nil, allOffered(), func() {})
	selected := 0
	for object, by := range options.ByObject {
		switch object.(type) {
		case *corev1.Node, *v1.Echo, *gatewayv1.Gateway:
			continue
		}
		selected++
		if by.Label == nil || by.Label.Matches(labels.Set{}) || !by.Label.Matches(labels.Set{"app.kubernetes.io/managed-by": "echo-operator"}) {
			t.Errorf("%T is selected by %v", object, by.Label)
		}
	}
	if want := len(children.Kinds()) + len(children.OptionalKinds()) + 3; selected != want {
		t.Errorf("%d kinds are selected, want %d: those of children, and pods, CronJobs and PodMonitors", selected, want)
	}
}

// allOffered returns what a cluster offers that serves all optional kinds.
func allOffered() offered {
	found := offered{apis: discovery.Offer{}}
	for _, kind := range optionalKinds(Options{}) {
		found.apis[kind.GroupVersionKind] = discovery.Finding{Access: discovery.Usable}
	}
	return found
}

// TestTheCacheHoldsExactlyWhatIsWatched: a kind that is watched and not selected would be held whole, and one that is not served cannot be listed.
func TestTheCacheHoldsExactlyWhatIsWatched(t *testing.T) {
	for name, found := range map[string]offered{"nothing is served": {}, "all is served": allOffered()} {
		var selected, watched []string
		for object := range cacheOptions(nil, found, func() {}).ByObject {
			selected = append(selected, nameOf(object))
		}
		for _, object := range found.watched() {
			watched = append(watched, nameOf(object))
		}
		slices.Sort(selected)
		slices.Sort(watched)
		if !slices.Equal(selected, watched) {
			t.Errorf("%s: %v are selected, and %v watched", name, selected, watched)
		}
	}
}

func TestAKindThatIsNoLongerServedIsMissed(t *testing.T) {
	missed := 0
	options := cacheOptions(nil, offered{}, func() { missed++ })
	reflector := toolscache.NewReflectorWithOptions(nil, nil, nil, toolscache.ReflectorOptions{})
	options.DefaultWatchErrorHandler(t.Context(), reflector, apierrors.NewForbidden(schema.GroupResource{}, "", nil))
	options.DefaultWatchErrorHandler(t.Context(), reflector, apierrors.NewNotFound(schema.GroupResource{}, ""))
	if missed != 1 {
		t.Errorf("missed %d times", missed)
	}
}

func TestNamespaceConfigs(t *testing.T) {
	if got := namespaceConfigs(nil); got != nil {
		t.Errorf("all namespaces: %v", got)
	}
	if diff := cmp.Diff(map[string]cache.Config{"a": {}, "b": {}}, namespaceConfigs([]string{"a", "b"})); diff != "" {
		t.Error(diff)
	}
}

func TestStripEcho(t *testing.T) {
	want := &v1.Echo{ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{"a": "b"}}, Spec: v1.EchoSpec{Replicas: 2}}
	full := want.DeepCopy()
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: children.FieldOwner}}
	full.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	got, err := stripEcho(full)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStripChild(t *testing.T) {
	own := metav1.ManagedFieldsEntry{Manager: children.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}
	others := metav1.ManagedFieldsEntry{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status"}
	want := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "x", ManagedFields: []metav1.ManagedFieldsEntry{own}}}
	full := want.DeepCopy()
	full.ManagedFields = []metav1.ManagedFieldsEntry{others, own}
	got, err := stripChild(full)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestStripNodeKeepsWhatTheOperatorReads(t *testing.T) {
	full := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}},
	}
	object, err := stripNode(full)
	stripped, ok := object.(*corev1.Node)
	if err != nil || !ok || stripped.Labels != nil || stripped.ManagedFields != nil || stripped.Status.Images != nil {
		t.Errorf("the cache holds %+v, %v", object, err)
	}
	if children.AcceptsPods(stripped) || !slices.Equal(status.ProblemNames(status.ProblemsOf(stripped)), status.ProblemNames(status.ProblemsOf(full))) {
		t.Error("the problems of the node are lost")
	}
}

// TestStripPodKeepsWhatTheOperatorReads checks pods of random fields, whose texts are those that Kubernetes writes.
func TestStripPodKeepsWhatTheOperatorReads(t *testing.T) {
	texts := []string{"", "echo-server", "tls", "s", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError", "OOMKilled", "Error",
		string(corev1.PodFailed), string(corev1.PodRunning), string(corev1.PodReady), string(corev1.PodScheduled), string(corev1.ConditionTrue),
		string(corev1.ConditionFalse), "ReplicaSet", "app.kubernetes.io/name", "app.kubernetes.io/instance", v1.AppliedHashAnnotation,
		"echo-server: cannot read the certificate of Secret s"}
	random := rand.New(rand.NewSource(1))
	text := func() string { return texts[random.Intn(len(texts))] }
	fill := randfill.NewWithSeed(1).NilChance(.3).NumElements(1, 4).MaxDepth(10).Funcs(
		func(s *string, _ randfill.Continue) { *s = text() },
		func(i *int32, _ randfill.Continue) { *i = random.Int31n(2) },
		func(s *corev1.PodConditionType, _ randfill.Continue) { *s = corev1.PodConditionType(text()) },
		func(s *corev1.ConditionStatus, _ randfill.Continue) { *s = corev1.ConditionStatus(text()) },
		func(s *corev1.PodPhase, _ randfill.Continue) { *s = corev1.PodPhase(text()) },
	)
	states := map[string]int{}
	for range 2000 {
		full := &corev1.Pod{}
		fill.Fill(full)
		object, err := stripPod(full.DeepCopy())
		stripped, ok := object.(*corev1.Pod)
		if err != nil || !ok {
			t.Fatalf("got %T, %v", object, err)
		}
		states[status.PodState(full)]++
		if status.PodDiffers(full, stripped) || children.TLSSecret(full) != children.TLSSecret(stripped) ||
			children.IsCompanion(full) != children.IsCompanion(stripped) || children.IsEchoPod(full) != children.IsEchoPod(stripped) || children.HasEnded(full) != children.HasEnded(stripped) ||
			full.Annotations[v1.AppliedHashAnnotation] != stripped.Annotations[v1.AppliedHashAnnotation] || full.UID != stripped.UID {
			t.Fatalf("it reads something else of\n%+v\n%+v", full, stripped)
		}
	}
	if len(states) < 4 {
		t.Errorf("the pods have only the states %v", states)
	}
}

func TestOtherObjectsAreLeftAsTheyAre(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"a": "b"}}}
	for _, transform := range []func(any) (any, error){stripEcho, stripNode, stripLabelledPod, stripPod} {
		if got, err := transform(service); err != nil || got != any(service) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
