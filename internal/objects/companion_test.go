package objects

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// labeledPod returns what the operator's cache keeps of the pod from support.PodWithCompanionLabel.
func labeledPod(changes ...func(*corev1.Pod)) *LabeledPod {
	return LabeledPodOf(support.PodWithCompanionLabel(changes...))
}

// companionFor returns a pod's companion as the API server would return it.
func companionFor(t *testing.T, owner *LabeledPod, echo *v1.Echo, changes ...func(*corev1.Pod)) corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	c, err := Companion(owner, echo, testConfig)
	g.Expect(err).NotTo(HaveOccurred())
	pod := corev1.Pod{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(c.Desired.Object, &pod)).To(Succeed())
	pod.CreationTimestamp = metav1.NewTime(time.Unix(1000, 0))
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func TestCompanionPlan(t *testing.T) {
	node, cordoned := &corev1.Node{}, &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}
	going := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)} }
	failed := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	succeeded := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	unscheduled := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	relabeled := func(p *corev1.Pod) { p.Labels[LabelManagedBy] = "me" }
	reborn := func(p *corev1.Pod) { p.UID = "u2" }
	made := companionFor(t, labeledPod(), support.EchoOfCompanions())
	with := func(changes ...func(*corev1.Pod)) []*Pod {
		pod := companionFor(t, labeledPod(), support.EchoOfCompanions(), changes...)
		return []*Pod{PodOf(&pod)}
	}
	ending := support.EchoOfCompanions(func(e *v1.Echo) { e.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	other := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.Image = "other:1" })
	paused := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.Image, e.Spec.Paused = "other:1", true })
	greedy := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.Image, e.Spec.Replicas = "other:1", new(int32(21)) })
	unready := support.EchoOfCompanions(func(e *v1.Echo) { e.Finalizers = nil })
	early, late := time.Unix(1020, 0), time.Unix(1060, 0)
	owner, echo := labeledPod(), support.EchoOfCompanions()
	for name, c := range map[string]struct {
		view CompanionState
		now  time.Time
		want string
	}{
		"asked for":                   {CompanionState{owner, echo, node, nil}, early, "create"},
		"there":                       {CompanionState{owner, echo, node, with()}, early, ""},
		"no owner":                    {CompanionState{nil, nil, nil, with()}, early, "remove"},
		"no owner, going":             {CompanionState{nil, nil, nil, with(going)}, early, ""},
		"owner is going":              {CompanionState{labeledPod(going), echo, node, with()}, early, "remove"},
		"owner succeeded":             {CompanionState{labeledPod(succeeded), echo, node, with()}, early, "remove"},
		"owner failed":                {CompanionState{labeledPod(failed), echo, node, nil}, early, ""},
		"owner is not scheduled":      {CompanionState{labeledPod(unscheduled), echo, nil, nil}, early, ""},
		"owner is a companion":        {CompanionState{LabeledPodOf(&made), echo, node, nil}, early, ""},
		"no Echo":                     {CompanionState{owner, nil, node, with()}, early, "remove EchoMissing"},
		"Echo is going":               {CompanionState{owner, ending, node, with()}, early, "remove"},
		"Echo does not hold yet":      {CompanionState{owner, unready, node, nil}, early, ""},
		"Echo changed":                {CompanionState{owner, other, node, with()}, early, "remove"},
		"Echo changed, going":         {CompanionState{owner, other, node, with(going)}, early, ""},
		"Echo is paused":              {CompanionState{owner, paused, node, with()}, early, ""},
		"Echo is paused, none":        {CompanionState{owner, paused, node, nil}, early, ""},
		"Echo is refused":             {CompanionState{owner, greedy, node, with()}, early, ""},
		"node is cordoned":            {CompanionState{owner, echo, cordoned, nil}, early, ""},
		"node is cordoned, changed":   {CompanionState{owner, other, cordoned, with()}, early, ""},
		"node is gone":                {CompanionState{owner, echo, nil, nil}, early, ""},
		"companion failed just now":   {CompanionState{owner, echo, node, with(failed)}, early, "wait 40s"},
		"companion failed":            {CompanionState{owner, echo, node, with(failed)}, late, "remove"},
		"companion lost a label":      {CompanionState{owner, echo, node, with(relabeled)}, early, "correct"},
		"owner came back by its name": {CompanionState{labeledPod(reborn), echo, node, with()}, early, "remove create"},
	} {
		plan, err := c.view.Plan(testConfig, Policy{MaxReplicas: 20}, c.now)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), name)
		NewWithT(t).Expect(describe(plan)).To(Equal(c.want), name)
	}
}

func describe(plan CompanionPlan) string {
	words := slices.Repeat([]string{"remove"}, len(plan.Remove))
	switch {
	case plan.Apply != nil && plan.Existing != nil:
		words = append(words, "correct")
	case plan.Apply != nil:
		words = append(words, "create")
	}
	if plan.Wait != 0 {
		words = append(words, "wait", plan.Wait.String())
	}
	if plan.EchoMissing {
		words = append(words, "EchoMissing")
	}
	return strings.Join(words, " ")
}

func TestCompanionName(t *testing.T) {
	long := strings.Repeat("a", 46)
	for name, owner := range map[string]string{
		"short":                    "web-0",
		"as long as a pod's":       strings.Repeat("a", 253),
		"cut at a dot":             long + ".b.c" + long,
		"cut at several":           long + "..-" + long,
		"as long as fits, exactly": long + "a",
	} {
		got := companionName(owner, "u")
		if len(got) > 63 || !strings.HasPrefix(got, owner[:min(len(owner), 40)]) || strings.Contains(got, ".-") || strings.Contains(got, "--") {
			t.Errorf("%s: %s is called %s", name, owner, got)
		}
	}
	if companionName("web-0", "1") == companionName("web-0", "2") {
		t.Error("two pods with the same name have companions with the same name")
	}
	// The names must not change, because other versions of the operator must find companions created by this version.
	if got, want := companionName("web-0", "1"), "web-0-echo-6b86b273ff"; got != want {
		t.Errorf("the companion is called %s, want %s", got, want)
	}
}

func TestSplitPods(t *testing.T) {
	echo := support.EchoOfCompanions()
	pod := func(name, owner string, labels map[string]string) corev1.Pod {
		return corev1.Pod{Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{Kind: owner, Name: "o", UID: "o", Controller: new(true)}}}
	}
	relabel := func(key string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels[key] = "other" }
	}
	unnamed, strange := childLabels(echo), childLabels(echo)
	unnamed[LabelName], strange[LabelComponent] = "other", "other"
	companion := companionFor(t, labeledPod(), echo)
	ownAndOthers := []corev1.Pod{
		pod("b", "ReplicaSet", childLabels(echo)), pod("copied", "Job", childLabels(echo)), companion,
		pod("disguised", "Pod", companionLabels(echo)), pod("a", "ReplicaSet", childLabels(echo)),
		pod("mixed", "ReplicaSet", companionLabels(echo)), pod("unnamed", "ReplicaSet", unnamed), pod("strange", "ReplicaSet", strange),
		companionFor(t, labeledPod(), echo, relabel(LabelName)),
		companionFor(t, labeledPod(), echo, relabel(LabelComponent)),
		companionFor(t, labeledPod(), echo, func(p *corev1.Pod) { p.Labels = childLabels(echo) }),
		{Name: "alone", Labels: childLabels(echo)},
	}
	var cached []*Pod
	for i := range ownAndOthers {
		cached = append(cached, PodOf(&ownAndOthers[i]))
	}
	own, companions := SplitPods(cached)
	if len(own) != 2 || own[0].Name != "b" || own[1].Name != "a" || len(companions) != 1 ||
		companions[0].Labels[LabelName] != companionNameValue {
		t.Errorf("got %v and %v", own, companions)
	}
	if own, companions := SplitPods(nil); own == nil || companions == nil {
		t.Errorf("no pods must be empty lists, which differ from unknown ones: %v, %v", own, companions)
	}
}
