package children

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

var testConfig = Config{Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}, Served: allServed()}

// asking returns a pod on node "n" that asks for a companion of Echo "x".
func asking(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0", UID: "u", Labels: map[string]string{v1.CompanionLabel: "x", "app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func companionEcho(changes ...func(*v1.Echo)) *v1.Echo {
	return support.Echo("ns", "x", append([]func(*v1.Echo){func(e *v1.Echo) { e.Finalizers = []string{v1.Finalizer} }}, changes...)...)
}

// companionFor returns the companion as the API server would return it.
func companionFor(t *testing.T, owner *corev1.Pod, echo *v1.Echo, changes ...func(*corev1.Pod)) corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	c, err := companion(owner, echo, testConfig)
	g.Expect(err).NotTo(HaveOccurred())
	pod := corev1.Pod{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(c.Want.Object, &pod)).To(Succeed())
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
	relabelled := func(p *corev1.Pod) { p.Labels[labelManagedBy] = "me" }
	reborn := func(p *corev1.Pod) { p.UID = "u2" }
	made := companionFor(t, asking(), companionEcho())
	with := func(changes ...func(*corev1.Pod)) []corev1.Pod {
		return []corev1.Pod{companionFor(t, asking(), companionEcho(), changes...)}
	}
	ending := companionEcho(func(e *v1.Echo) { e.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	other := companionEcho(func(e *v1.Echo) { e.Spec.Image = "other:1" })
	paused := companionEcho(func(e *v1.Echo) { e.Spec.Image, e.Spec.Paused = "other:1", true })
	greedy := companionEcho(func(e *v1.Echo) { e.Spec.Image, e.Spec.Replicas = "other:1", 21 })
	unready := companionEcho(func(e *v1.Echo) { e.Finalizers = nil })
	early, late := time.Unix(1020, 0), time.Unix(1060, 0)

	for name, c := range map[string]struct {
		view CompanionState
		now  time.Time
		want string
	}{
		"asked for":                   {CompanionState{asking(), companionEcho(), node, nil}, early, "create"},
		"there":                       {CompanionState{asking(), companionEcho(), node, with()}, early, ""},
		"no owner":                    {CompanionState{nil, nil, nil, with()}, early, "remove none"},
		"no owner, going":             {CompanionState{nil, nil, nil, with(going)}, early, "none"},
		"owner is going":              {CompanionState{asking(going), companionEcho(), node, with()}, early, "remove none"},
		"owner succeeded":             {CompanionState{asking(succeeded), companionEcho(), node, with()}, early, "remove none"},
		"owner failed":                {CompanionState{asking(failed), companionEcho(), node, nil}, early, "none"},
		"owner is not scheduled":      {CompanionState{asking(unscheduled), companionEcho(), nil, nil}, early, ""},
		"owner is a companion":        {CompanionState{&made, companionEcho(), node, nil}, early, "none"},
		"no Echo":                     {CompanionState{asking(), nil, node, with()}, early, "remove none EchoMissing"},
		"Echo is going":               {CompanionState{asking(), ending, node, with()}, early, "remove none"},
		"Echo does not hold yet":      {CompanionState{asking(), unready, node, nil}, early, ""},
		"Echo changed":                {CompanionState{asking(), other, node, with()}, early, "remove"},
		"Echo changed, going":         {CompanionState{asking(), other, node, with(going)}, early, ""},
		"Echo is paused":              {CompanionState{asking(), paused, node, with()}, early, ""},
		"Echo is paused, none":        {CompanionState{asking(), paused, node, nil}, early, ""},
		"Echo is refused":             {CompanionState{asking(), greedy, node, with()}, early, ""},
		"node is cordoned":            {CompanionState{asking(), companionEcho(), cordoned, nil}, early, ""},
		"node is cordoned, changed":   {CompanionState{asking(), other, cordoned, with()}, early, ""},
		"node is gone":                {CompanionState{asking(), companionEcho(), nil, nil}, early, ""},
		"companion failed just now":   {CompanionState{asking(), companionEcho(), node, with(failed)}, early, "wait 40s"},
		"companion failed":            {CompanionState{asking(), companionEcho(), node, with(failed)}, late, "remove"},
		"companion lost a label":      {CompanionState{asking(), companionEcho(), node, with(relabelled)}, early, "correct"},
		"owner came back by its name": {CompanionState{asking(reborn), companionEcho(), node, with()}, early, "remove create"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan, err := c.view.Plan(testConfig, Policy{MaxReplicas: 20}, c.now)
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
	if plan.None {
		words = append(words, "none")
	}
	if plan.EchoMissing {
		words = append(words, "EchoMissing")
	}
	return strings.Join(words, " ")
}
