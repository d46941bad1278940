package scorecard

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

func TestIsReady(t *testing.T) {
	for name, c := range map[string]struct {
		status     metav1.ConditionStatus
		generation int64
		want       bool
	}{
		"ready":                 {metav1.ConditionTrue, 2, true},
		"ready before the edit": {metav1.ConditionTrue, 1, false},
		"not ready":             {metav1.ConditionFalse, 2, false},
	} {
		echo := &v1.Echo{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		if isReady(echo) || !strings.Contains(state(echo), "no condition") {
			t.Errorf("without a condition: %s", state(echo))
		}
		echo.Status.Conditions = []metav1.Condition{
			{Type: v1.ConditionReady, Status: c.status, ObservedGeneration: c.generation, Reason: "R", Message: "m"}}
		if got := isReady(echo); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if got := state(echo); !strings.HasSuffix(got, "of 2, R: m") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestRemove_continuesAfterErrors checks that remove continues if it cannot delete one of the Echoes or if the test was canceled.
func TestRemove_continuesAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: "echoes", Name: "kept", Finalizers: []string{"example.com/keeps"}}}
		other := &v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: "echoes", Name: "other"}}
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

func TestOperator_returnsItsPods(t *testing.T) {
	b := ownBundle(t)
	pod, other := operatorPod(b), operatorPod(b)
	other.Name, other.Labels = "another", map[string]string{"app": "another"}
	if pods, err := newWorld(t, pod, other).operator(t.Context(), b); err != nil || len(pods) != 1 || pods[0].Name != pod.Name {
		t.Errorf("one of two pods: %d pods, %v", len(pods), err)
	}
	if _, err := newWorld(t, other).operator(t.Context(), b); err == nil ||
		!strings.Contains(err.Error(), "the operator is not installed: no pod") {
		t.Errorf("no pod: %v", err)
	}
	b.CSV.Spec.Install.Spec.Deployments[0].Spec.Selector.MatchLabels["-"] = "-"
	if _, err := newWorld(t, pod).operator(t.Context(), b); err == nil || !strings.Contains(err.Error(), `Invalid value: "-"`) {
		t.Errorf("an invalid selector: %v", err)
	}
}

// TestRun_returnsRequestErrors checks that a test does not pass if its requests fail, and that it leaves no Echo behind.
func TestRun_returnsRequestErrors(t *testing.T) {
	for request, tests := range map[string]string{
		"list Pod": "permissions restricted", "create SubjectAccessReview": "permissions", "create Echo": "restricted",
	} {
		for test := range strings.FieldsSeq(tests) {
			b := ownBundle(t)
			w := newWorld(t, operatorPod(b))
			w.fail[request] = errInjected
			if problems, err := w.run(t.Context(), test, b); !errors.Is(err, errInjected) {
				t.Errorf("%s without %q: %q, %v, want %v", test, request, problems, err, errInjected)
			}
			w.expectNoEchoes(t)
		}
	}
}

// TestCluster_accessFileIsExact checks that access.yaml grants exactly the permissions that the tests use.
func TestCluster_accessFileIsExact(t *testing.T) {
	text, err := os.ReadFile("access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role struct{ Rules []rbacv1.PolicyRule }
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, permission := range bundle.Listed(role.Rules) {
			granted[permission.String()] = true
		}
	}
	b := withExamples(t, twoExamples)
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
