package controllers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var testImages = Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}

// asking is a pod on node "n" that asks for a companion of Echo "x".
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

// companionFor is the companion as the API server would return it.
func companionFor(t *testing.T, owner *corev1.Pod, echo *v1.Echo, changes ...func(*corev1.Pod)) corev1.Pod {
	t.Helper()
	c, err := companion(owner, echo, testImages)
	if err != nil {
		t.Fatal(err)
	}
	pod := corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.want.Object, &pod); err != nil {
		t.Fatal(err)
	}
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
		view companionView
		now  time.Time
		want string
	}{
		"asked for":                   {companionView{asking(), companionEcho(), node, nil}, early, "make"},
		"there":                       {companionView{asking(), companionEcho(), node, with()}, early, ""},
		"no owner":                    {companionView{nil, nil, nil, with()}, early, "remove"},
		"no owner, going":             {companionView{nil, nil, nil, with(going)}, early, ""},
		"owner is going":              {companionView{asking(going), companionEcho(), node, with()}, early, "remove"},
		"owner succeeded":             {companionView{asking(succeeded), companionEcho(), node, with()}, early, "remove"},
		"owner failed":                {companionView{asking(failed), companionEcho(), node, nil}, early, ""},
		"owner is not scheduled":      {companionView{asking(unscheduled), companionEcho(), nil, nil}, early, ""},
		"owner is a companion":        {companionView{&made, companionEcho(), node, nil}, early, ""},
		"no Echo":                     {companionView{asking(), nil, node, with()}, early, "remove EchoNotFound"},
		"Echo is going":               {companionView{asking(), ending, node, with()}, early, "remove"},
		"Echo does not hold yet":      {companionView{asking(), unready, node, nil}, early, ""},
		"Echo changed":                {companionView{asking(), other, node, with()}, early, "remove"},
		"Echo changed, going":         {companionView{asking(), other, node, with(going)}, early, ""},
		"Echo is paused":              {companionView{asking(), paused, node, with()}, early, ""},
		"Echo is paused, none":        {companionView{asking(), paused, node, nil}, early, ""},
		"Echo is refused":             {companionView{asking(), greedy, node, with()}, early, ""},
		"node is cordoned":            {companionView{asking(), companionEcho(), cordoned, nil}, early, ""},
		"node is cordoned, changed":   {companionView{asking(), other, cordoned, with()}, early, ""},
		"node is gone":                {companionView{asking(), companionEcho(), nil, nil}, early, ""},
		"companion failed just now":   {companionView{asking(), companionEcho(), node, with(failed)}, early, "wait 40s"},
		"companion failed":            {companionView{asking(), companionEcho(), node, with(failed)}, late, "remove"},
		"companion lost a label":      {companionView{asking(), companionEcho(), node, with(relabelled)}, early, "correct"},
		"owner came back by its name": {companionView{asking(reborn), companionEcho(), node, with()}, early, "remove make"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := c.view.plan(testImages, 20, c.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(plan); got != c.want {
				t.Errorf("the plan is %q, want %q", got, c.want)
			}
		})
	}
}

func describe(plan companionPlan) string {
	words := slices.Repeat([]string{"remove"}, len(plan.remove))
	switch {
	case plan.make != nil && plan.there != nil:
		words = append(words, "correct")
	case plan.make != nil:
		words = append(words, "make")
	}
	if plan.wait != 0 {
		words = append(words, "wait", plan.wait.String())
	}
	if plan.news != nil {
		words = append(words, plan.news.reason)
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
		t.Error("two pods of one name have companions of one name")
	}
	// Another version of the operator must find the companions that this one made.
	if got, want := companionName("web-0", "1"), "web-0-echo-6b86b273ff"; got != want {
		t.Errorf("the companion is called %s, want %s", got, want)
	}
}

func TestWhereACompanionRuns(t *testing.T) {
	owner := asking()
	pod := companionFor(t, owner, companionEcho(everything))
	want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-0", UID: "u", Controller: new(true), BlockOwnerDeletion: new(false)}}
	if diff := cmp.Diff(want, pod.OwnerReferences); diff != "" || !isCompanion(&pod) || isCompanion(owner) {
		t.Errorf("its owner is not its own: %s", diff)
	}
	match := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0]
	if pod.Spec.NodeName != "" || match.Key != "metadata.name" || !slices.Equal(match.Values, []string{"n"}) {
		t.Errorf("it is placed by %+v", match)
	}
	if !slices.Equal(pod.Spec.Tolerations, owner.Spec.Tolerations) || len(pod.Spec.TopologySpreadConstraints) != 0 || pod.Spec.PriorityClassName != "" {
		t.Errorf("it is scheduled by %+v", pod.Spec)
	}
	if pod.Annotations[safeToEvict] != "true" {
		t.Error("it would keep a node alive")
	}
}

func TestWhatACompanionRuns(t *testing.T) {
	echo := companionEcho(everything)
	server := companionFor(t, asking(), echo).Spec.Containers[0]
	env := map[string]string{}
	for _, e := range server.Env {
		env[e.Name] = e.Value
	}
	if server.Image != echo.Spec.Image || server.Ports[0].ContainerPort != echo.Spec.Port || env["ECHO_RESPONSE_STATUS"] != "503" {
		t.Errorf("it runs %+v", server)
	}
	if env["SERVICE_NAME"]+env["INGRESS_NAME"] != "" {
		t.Errorf("it believes to be behind a Service: %v", env)
	}
}

func TestNobodyTakesACompanionForItsOwn(t *testing.T) {
	echo := companionEcho(func(e *v1.Echo) { e.Spec.PodLabels = map[string]string{"app": "web"} })
	pod := companionFor(t, asking(), echo)
	if hasLabels(&pod, selectorLabels(echo)) {
		t.Error("the Echo's Service and Deployment select a companion")
	}
	for key, value := range asking().Labels {
		if pod.Labels[key] == value {
			t.Errorf("a companion has its owner's label %s", key)
		}
	}
	if pod.Labels["app"] != "" {
		t.Error("a companion has the labels of the Echo's own pods")
	}
	if !ManagedSelector().Matches(labelsOf(pod)) {
		t.Error("the operator's cache does not hold companions")
	}
}

func TestACompanionStaysWhileNothingOfItChanges(t *testing.T) {
	before := companionFor(t, asking(), companionEcho())
	after := companionFor(t, asking(), companionEcho(func(e *v1.Echo) {
		e.Spec.Replicas = 7
		e.Spec.Service.Type = corev1.ServiceTypeNodePort
		e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com"}
		e.Spec.PodLabels = map[string]string{"a": "b"}
	}))
	if before.Annotations[v1.AppliedHashAnnotation] != after.Annotations[v1.AppliedHashAnnotation] {
		t.Error("what does not concern a companion replaces it")
	}
}
