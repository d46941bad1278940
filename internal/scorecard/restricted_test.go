package scorecard

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/pod-security-admission/policy"
)

// TestRestricted checks that the test examines the pods of the operator and of an Echo, and that each reported problem names its pod.
func TestRestricted(t *testing.T) {
	const problem = " container manager can write to its root file system"
	loose := func(pod *corev1.Pod) { pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem = nil }
	for name, c := range map[string]struct {
		operator, served func(*corev1.Pod)
		want             []string
	}{
		"all are restricted":    {func(*corev1.Pod) {}, func(*corev1.Pod) {}, nil},
		"the operator is not":   {loose, func(*corev1.Pod) {}, []string{"pod operators/echo-operator-1" + problem}},
		"an echo server is not": {func(*corev1.Pod) {}, loose, []string{"pod echoes/served" + problem}},
		"none is":               {loose, loose, []string{"pod operators/echo-operator-1" + problem, "pod echoes/served" + problem}},
	} {
		b := ownBundle(t)
		pod, served := operatorPod(b), operatorPod(b)
		c.operator(pod)
		c.served(served)
		w := newWorld(t, pod)
		w.pod = served
		problems, err := w.run(t.Context(), "restricted", b)
		if err != nil || !slices.Equal(problems, c.want) {
			t.Errorf("%s: the problems are %q, %v, want %q", name, problems, err, c.want)
		}
		w.expectNoEchoes(t)
	}
}

func TestPodsOfAnEcho(t *testing.T) {
	w := newWorld(t)
	if pods, err := w.podsOfAnEcho(t.Context()); err == nil || !strings.Contains(err.Error(), "is Ready and has no pods") {
		t.Errorf("the pods are %v, %v", pods, err)
	}
	w.expectNoEchoes(t)
	w.fail["get Echo"] = errInjected
	if pods, err := w.podsOfAnEcho(t.Context()); err == nil || !strings.Contains(err.Error(), "is not Ready") {
		t.Errorf("the pods are %v, %v", pods, err)
	}
	w.expectNoEchoes(t)
}

// problemsAfter returns the problems with the operator's pod after a change.
func problemsAfter(t *testing.T, change func(*corev1.Pod, *corev1.Container)) []string {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pod := operatorPod(ownBundle(t))
	change(pod, &pod.Spec.Containers[0])
	return podProblems(evaluator, pod)
}

func TestPodProblems(t *testing.T) {
	for want, loosen := range map[string]func(*corev1.Pod, *corev1.Container){
		"is not restricted: runAsNonRoot":              func(p *corev1.Pod, _ *corev1.Container) { p.Spec.SecurityContext.RunAsNonRoot = nil },
		"is not restricted: seccompProfile":            func(p *corev1.Pod, _ *corev1.Container) { p.Spec.SecurityContext.SeccompProfile = nil },
		"is not restricted: unrestricted capabilities": func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.Capabilities = nil },
		"is not restricted: allowPrivilegeEscalation": func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.AllowPrivilegeEscalation = nil
		},
		"has a fixed user":                   func(p *corev1.Pod, _ *corev1.Container) { p.Spec.SecurityContext.RunAsUser = new(int64(1001)) },
		"container manager has a fixed user": func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.RunAsUser = new(int64(1001)) },
		"container manager can write":        func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.ReadOnlyRootFilesystem = new(false) },
		"container manager requests no cpu":  func(_ *corev1.Pod, c *corev1.Container) { delete(c.Resources.Requests, corev1.ResourceCPU) },
		"container manager requests no memory": func(_ *corev1.Pod, c *corev1.Container) {
			c.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("0")
		},
		"container helper can write": func(p *corev1.Pod, c *corev1.Container) {
			helper := c.DeepCopy()
			helper.Name, helper.SecurityContext.ReadOnlyRootFilesystem = "helper", nil
			p.Spec.InitContainers = []corev1.Container{*helper}
		},
	} {
		if problems := problemsAfter(t, loosen); len(problems) != 1 || !strings.HasPrefix(problems[0], want) {
			t.Errorf("the problems are %q, want %q", problems, want)
		}
	}
}

func TestPodProblems_userThatOpenShiftSet(t *testing.T) {
	problems := problemsAfter(t, func(p *corev1.Pod, c *corev1.Container) {
		p.Annotations = map[string]string{"openshift.io/scc": "restricted-v2"}
		p.Spec.SecurityContext.RunAsUser, c.SecurityContext.RunAsUser = new(int64(1000650000)), new(int64(1000650000))
	})
	if len(problems) > 0 {
		t.Errorf("the problems are %q", problems)
	}
}
