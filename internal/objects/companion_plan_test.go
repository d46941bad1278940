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

var companionConfig = Config{Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}}

// companionFor returns a pod's companion as the API server would return it.
func companionFor(t *testing.T, owner *corev1.Pod, echo *v1.Echo, changes ...func(*corev1.Pod)) corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	c, err := Companion(owner, echo, companionConfig)
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
	made := companionFor(t, support.PodWithCompanionLabel(), support.EchoOfCompanions())
	with := func(changes ...func(*corev1.Pod)) []corev1.Pod {
		return []corev1.Pod{companionFor(t, support.PodWithCompanionLabel(), support.EchoOfCompanions(), changes...)}
	}
	ending := support.EchoOfCompanions(func(e *v1.Echo) { e.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	other := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.Image = "other:1" })
	paused := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.Image, e.Spec.Paused = "other:1", true })
	greedy := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.Image, e.Spec.Replicas = "other:1", new(int32(21)) })
	unready := support.EchoOfCompanions(func(e *v1.Echo) { e.Finalizers = nil })
	early, late := time.Unix(1020, 0), time.Unix(1060, 0)

	for name, c := range map[string]struct {
		view CompanionState
		now  time.Time
		want string
	}{
		"asked for":       {CompanionState{support.PodWithCompanionLabel(), support.EchoOfCompanions(), node, nil}, early, "create"},
		"there":           {CompanionState{support.PodWithCompanionLabel(), support.EchoOfCompanions(), node, with()}, early, ""},
		"no owner":        {CompanionState{nil, nil, nil, with()}, early, "remove"},
		"no owner, going": {CompanionState{nil, nil, nil, with(going)}, early, ""},
		"owner is going": {CompanionState{support.PodWithCompanionLabel(going), support.EchoOfCompanions(), node, with()}, early,
			"remove"},
		"owner succeeded": {CompanionState{support.PodWithCompanionLabel(succeeded), support.EchoOfCompanions(), node, with()}, early,
			"remove"},
		"owner failed": {CompanionState{support.PodWithCompanionLabel(failed), support.EchoOfCompanions(), node, nil}, early,
			""},
		"owner is not scheduled": {CompanionState{support.PodWithCompanionLabel(unscheduled), support.EchoOfCompanions(), nil, nil}, early,
			""},
		"owner is a companion":      {CompanionState{&made, support.EchoOfCompanions(), node, nil}, early, ""},
		"no Echo":                   {CompanionState{support.PodWithCompanionLabel(), nil, node, with()}, early, "remove EchoMissing"},
		"Echo is going":             {CompanionState{support.PodWithCompanionLabel(), ending, node, with()}, early, "remove"},
		"Echo does not hold yet":    {CompanionState{support.PodWithCompanionLabel(), unready, node, nil}, early, ""},
		"Echo changed":              {CompanionState{support.PodWithCompanionLabel(), other, node, with()}, early, "remove"},
		"Echo changed, going":       {CompanionState{support.PodWithCompanionLabel(), other, node, with(going)}, early, ""},
		"Echo is paused":            {CompanionState{support.PodWithCompanionLabel(), paused, node, with()}, early, ""},
		"Echo is paused, none":      {CompanionState{support.PodWithCompanionLabel(), paused, node, nil}, early, ""},
		"Echo is refused":           {CompanionState{support.PodWithCompanionLabel(), greedy, node, with()}, early, ""},
		"node is cordoned":          {CompanionState{support.PodWithCompanionLabel(), support.EchoOfCompanions(), cordoned, nil}, early, ""},
		"node is cordoned, changed": {CompanionState{support.PodWithCompanionLabel(), other, cordoned, with()}, early, ""},
		"node is gone":              {CompanionState{support.PodWithCompanionLabel(), support.EchoOfCompanions(), nil, nil}, early, ""},
		"companion failed just now": {CompanionState{support.PodWithCompanionLabel(), support.EchoOfCompanions(), node, with(failed)}, early,
			"wait 40s"},
		"companion failed": {CompanionState{support.PodWithCompanionLabel(), support.EchoOfCompanions(), node, with(failed)}, late,
			"remove"},
		"companion lost a label": {CompanionState{support.PodWithCompanionLabel(), support.EchoOfCompanions(), node, with(relabeled)}, early,
			"correct"},
		"owner came back by its name": {CompanionState{support.PodWithCompanionLabel(reborn), support.EchoOfCompanions(), node, with()}, early,
			"remove create"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan, err := c.view.Plan(companionConfig, Policy{MaxReplicas: 20}, c.now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(describe(plan)).To(Equal(c.want))
		})
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

func TestLacksCompanion(t *testing.T) {
	view := CompanionState{Owner: support.PodWithCompanionLabel()}
	companion, ended := corev1.Pod{}, support.PodWithCompanionLabel()
	companion.Name = companionName(view.Owner.Name, view.Owner.UID)
	ended.Status.Phase = corev1.PodSucceeded
	unscheduled := support.PodWithCompanionLabel()
	unscheduled.Spec.NodeName = ""
	for name, c := range map[string]struct {
		view CompanionState
		want bool
	}{
		"it lacks one":    {view, true},
		"it has one":      {CompanionState{Owner: view.Owner, Companions: []corev1.Pod{companion}}, false},
		"it has no node":  {CompanionState{Owner: unscheduled}, false},
		"it has finished": {CompanionState{Owner: ended}, false},
	} {
		NewWithT(t).Expect(c.view.LacksCompanion()).To(Equal(c.want), name)
	}
}
