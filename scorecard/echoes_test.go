package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

func TestReadyIsOfTheCurrentGeneration(t *testing.T) {
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
		echo.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: c.status, ObservedGeneration: c.generation, Reason: "R", Message: "m"}}
		if got := isReady(echo); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if got := state(echo); !strings.HasSuffix(got, "of 2, R: m") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAnExampleGetsANameOfItsOwn(t *testing.T) {
	example := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "test-echo", "namespace": "default"}}}
	object := ownCopy(example, "here")
	if object.GetName() != "" || object.GetGenerateName() != "scorecard-test-echo-" || object.GetNamespace() != "here" {
		t.Errorf("the copy is %v", object)
	}
	if example.GetName() != "test-echo" || example.GetNamespace() != "default" {
		t.Errorf("the example became %v", example)
	}
}

func TestWhereAPermissionIsGiven(t *testing.T) {
	seen := map[string]string{}
	b := ownBundle(t)
	for _, g := range grantsOf(b, "own", "other") {
		seen[g.permission.String()] = g.namespace
		if g.account != "system:serviceaccount:own:echo-operator-controller-manager" {
			t.Errorf("%s is for %s", g.permission, g.account)
		}
	}
	for permission, want := range map[string]string{
		"update leases.coordination.k8s.io/echo-operator.example.com": "own",
		"create events.events.k8s.io":                                 "other",
		"create services":                                             "other",
		"create subjectaccessreviews.authorization.k8s.io":            "",
	} {
		if got, ok := seen[permission]; !ok || got != want {
			t.Errorf("%s is given in %q, %t, want %q", permission, got, ok, want)
		}
	}
	if port := metricsPort(&b.CSV.Spec.Install.Spec.Deployments[0].Spec.Template.Spec); port != 8443 {
		t.Errorf("the port of the metrics is %d", port)
	}
}

func ownBundle(t *testing.T) bundle.Bundle {
	t.Helper()
	b, err := bundle.Read("../bundle")
	if err != nil {
		t.Fatal(err)
	}
	return b
}
