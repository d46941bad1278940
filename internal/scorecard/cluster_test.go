package scorecard

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// TestRemove_continuesAfterErrors checks that remove continues if it cannot delete one of the Echoes or if the test was canceled.
func TestRemove_continuesAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &v1.Echo{Namespace: "echoes", Name: "kept", Finalizers: []string{"example.com/keeps"}}
		other := &v1.Echo{Namespace: "echoes", Name: "other"}
		w := newWorld(t, kept, other)
		ctx, end := context.WithCancel(t.Context())
		end()
		err := w.remove(ctx, "kept", "other")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the Echo kept still exists 1m30s after its deletion") {
			t.Errorf("the error is %v", err)
		}
		left := &v1.EchoList{}
		if err := w.List(t.Context(), left); err != nil || len(left.Items) != 1 {
			t.Errorf("the remaining Echoes are %v, %v, want one Echo", left.Items, err)
		}
		if err := w.remove(t.Context(), "other"); err != nil {
			t.Errorf("removing a deleted Echo: %v", err)
		}
	})
}

// TestRun_returnsRequestErrors checks that a test does not pass if its requests fail, and that it leaves no Echo behind.
func TestRun_returnsRequestErrors(t *testing.T) {
	b := ownBundle(t)
	if _, err := newWorld(t).operator(t.Context(), b); err == nil || !strings.Contains(err.Error(), "the operator is not installed: no pod") {
		t.Errorf("no pod: %v", err)
	}
	for _, c := range []struct{ test, request, want string }{
		{"permissions", "list Pod", "injected"}, {"restricted", "list Pod", "injected"},
		{"permissions", "create SubjectAccessReview", "injected"}, {"restricted", "create Echo", "injected"},
		{"restricted", "get Echo", "is not Ready"}, {"restricted", "none", "is Ready and has no pods"},
	} {
		w := newWorld(t, operatorPod(b))
		w.fail[c.request] = errInjected
		if problems, err := w.run(t.Context(), c.test, b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s without %q: %q, %v, want %s", c.test, c.request, problems, err, c.want)
		}
		w.expectNoEchoes(t)
	}
}

// TestCluster_accessFileIsExact checks that access.yaml grants exactly the permissions that the tests use.
func TestCluster_accessFileIsExact(t *testing.T) {
	text, err := os.ReadFile("access.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	granted := map[string]bool{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role struct{ Rules []rbacv1.PolicyRule }
		NewWithT(t).Expect(yaml.Unmarshal([]byte(document), &role)).To(Succeed())
		for _, permission := range Listed(role.Rules) {
			granted[permission.String()] = true
		}
	}
	b := ownBundle(t)
	w := newWorld(t, operatorPod(b))
	w.pod = operatorPod(b)
	for _, test := range []string{"permissions", "restricted"} {
		if problems, err := w.run(t.Context(), test, b); err != nil || len(problems) > 0 {
			t.Errorf("%s: %q, %v", test, problems, err)
		}
	}
	w.pod = nil
	if problems, err := w.run(t.Context(), "examples", b); err != nil || len(problems) > 0 {
		t.Errorf("examples: %q, %v", problems, err)
	}
	requested := map[string]bool{}
	resources := strings.NewReplacer("Echo", "echoes.example.com", "Pod", "pods",
		"SubjectAccessReview", "subjectaccessreviews.authorization.k8s.io")
	for request := range w.requests {
		requested[resources.Replace(request)] = true
	}
	if diff := cmp.Diff(requested, granted); diff != "" {
		t.Errorf("access.yaml (-requested +granted):\n%s", diff)
	}
}

// TestExamples checks that examples are created in the namespace to which the test may write, and that unknown fields are rejected.
func TestExamples(t *testing.T) {
	const notReady = "is not Ready after 1m30s: it has no status"
	for name, c := range map[string]struct {
		spoil func(w *world)
		want  []string
		left  bool // whether Echoes still exist at the end
	}{
		"all are Ready": {func(*world) {}, nil, false},
		"none is Ready": {func(w *world) { w.ready = false }, []string{notReady, notReady}, false},
		"all are refused": {func(w *world) { w.fail["create Echo"] = errInjected },
			[]string{"example test-echo: injected", "injected"}, false},
		"they cannot be read": {func(w *world) { w.fail["get Echo"] = errInjected },
			[]string{"is not Ready", "is not Ready", "injected"}, false},
		"they cannot be deleted": {func(w *world) { w.fail["delete Echo"] = errInjected }, []string{"injected"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, w := ownBundle(t), newWorld(t)
				c.spoil(w)
				problems := w.examples(t.Context(), b)
				if len(problems) != len(c.want) {
					t.Fatalf("the problems are %q, want %q", problems, c.want)
				}
				for i, want := range c.want {
					if !strings.Contains(problems[i], want) {
						t.Errorf("problem %d is %q, want %q", i, problems[i], want)
					}
				}
				for _, made := range w.made {
					if made.GetNamespace() != "echoes" || made.GetName() != "" || w.validation != "Strict" ||
						!strings.HasPrefix(made.GetGenerateName(), "scorecard-") {
						t.Errorf("an example became %v, with the field validation %q", made, w.validation)
					}
				}
				if !c.left {
					w.expectNoEchoes(t)
				}
			})
		})
	}
}

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
		pod, served, other := operatorPod(b), operatorPod(b), operatorPod(b)
		c.operator(pod)
		c.served(served)
		loose(other)
		other.Name, other.Labels = "another", map[string]string{"app": "another"}
		w := newWorld(t, pod, other)
		w.pod = served
		problems, err := w.run(t.Context(), "restricted", b)
		if err != nil || !slices.Equal(problems, c.want) {
			t.Errorf("%s: the problems are %q, %v, want %q", name, problems, err, c.want)
		}
		w.expectNoEchoes(t)
	}
}

func TestPodProblems(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for want, loosen := range map[string]func(*corev1.Pod, *corev1.Container){
		"is not restricted: runAsNonRoot":    func(p *corev1.Pod, _ *corev1.Container) { p.Spec.SecurityContext.RunAsNonRoot = nil },
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
		"": func(p *corev1.Pod, c *corev1.Container) { // OpenShift sets the user
			p.Annotations = map[string]string{"openshift.io/scc": "restricted-v2"}
			p.Spec.SecurityContext.RunAsUser, c.SecurityContext.RunAsUser = new(int64(1000650000)), new(int64(1000650000))
		},
	} {
		pod := operatorPod(ownBundle(t))
		loosen(pod, &pod.Spec.Containers[0])
		problems := strings.Join(podProblems(evaluator, pod), "\n")
		if !strings.HasPrefix(problems, want) || (problems == "") != (want == "") || strings.Contains(problems, "\n") {
			t.Errorf("the problems are %q, want %q", problems, want)
		}
	}
}
