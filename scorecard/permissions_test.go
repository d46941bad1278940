package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
	"github.com/echo-operator/echo-operator/scorecard/permissions"
)

const operatorAccount = "system:serviceaccount:operators:manager"

func TestReviewAsksForOnePermission(t *testing.T) {
	for name, c := range map[string]struct {
		grant    grant
		resource *authorizationv1.ResourceAttributes
		url      *authorizationv1.NonResourceAttributes
	}{
		"of a namespace":     {grant{operatorAccount, "echoes", permissions.Permission{Group: "apps", Resource: "deployments", Verb: "patch"}}, &authorizationv1.ResourceAttributes{Namespace: "echoes", Group: "apps", Resource: "deployments", Verb: "patch"}, nil},
		"of all namespaces":  {grant{operatorAccount, "", permissions.Permission{Resource: "nodes", Verb: "list"}}, &authorizationv1.ResourceAttributes{Resource: "nodes", Verb: "list"}, nil},
		"of a subresource":   {grant{operatorAccount, "echoes", permissions.Permission{Resource: "pods/exec", Verb: "create"}}, &authorizationv1.ResourceAttributes{Namespace: "echoes", Resource: "pods", Subresource: "exec", Verb: "create"}, nil},
		"of one object":      {grant{operatorAccount, "echoes", permissions.Permission{Resource: "pods", Verb: "get", Name: "x"}}, &authorizationv1.ResourceAttributes{Namespace: "echoes", Resource: "pods", Verb: "get", Name: "x"}, nil},
		"of a URL":           {grant{operatorAccount, "", permissions.Permission{Resource: "/metrics", Verb: "get"}}, nil, &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}},
		"of a URL with path": {grant{operatorAccount, "", permissions.Permission{Resource: "/debug/pprof", Verb: "get"}}, nil, &authorizationv1.NonResourceAttributes{Path: "/debug/pprof", Verb: "get"}},
	} {
		want := authorizationv1.SubjectAccessReviewSpec{User: operatorAccount, ResourceAttributes: c.resource, NonResourceAttributes: c.url,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:operators", "system:authenticated"}}
		if diff := cmp.Diff(want, reviewOf(c.grant).Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRefusedPermissions(t *testing.T) {
	grants := []grant{
		{operatorAccount, "echoes", permissions.Permission{Resource: "services", Verb: "create"}},
		{operatorAccount, "", permissions.Permission{Group: "apps", Resource: "deployments", Verb: "create"}},
	}
	w := newWorld(t)
	w.allowed = func(spec authorizationv1.SubjectAccessReviewSpec) bool {
		return spec.ResourceAttributes.Resource == "deployments"
	}
	want := []string{operatorAccount + ` may not create services in "echoes", though the bundle lists it`}
	if got, err := w.refused(t.Context(), grants); err != nil || !slices.Equal(got, want) {
		t.Errorf("the problems are %q, %v, want %q", got, err, want)
	}
	if !strings.Contains(w.log.String(), "2 listed permissions, of which 1 are missing") {
		t.Errorf("the log is %s", &w.log)
	}
	w.fail["create SubjectAccessReview"] = errInjected
	if got, err := w.refused(t.Context(), grants); !errors.Is(err, errInjected) || !strings.Contains(err.Error(), "reviewing the access of "+operatorAccount) {
		t.Errorf("the problems are %q, %v, want %v", got, err, errInjected)
	}
}

// TestDangerousPermissions checks that they are looked for in all namespaces, in the operator's and in that of the Echoes, once for each
// account.
func TestDangerousPermissions(t *testing.T) {
	secrets := permissions.Permission{Resource: "secrets", Verb: "list"}
	grants := []grant{{operatorAccount, "echoes", secrets}, {operatorAccount, "", secrets}, {operatorAccount + "-2", "", secrets}}
	for name, c := range map[string]struct {
		namespaces []string
		want       int
	}{
		"nowhere":           {nil, 0},
		"in all":            {[]string{""}, 2},
		"in its own":        {[]string{"operators"}, 2},
		"in that of Echoes": {[]string{"echoes"}, 2},
		"elsewhere":         {[]string{"default"}, 0},
		"in two":            {[]string{"", "operators"}, 4},
	} {
		w := newWorld(t)
		w.allowed = func(spec authorizationv1.SubjectAccessReviewSpec) bool {
			a := spec.ResourceAttributes
			return a.Resource == "secrets" && a.Verb == "list" && slices.Contains(c.namespaces, a.Namespace)
		}
		got, err := w.dangerous(t.Context(), grants, "operators")
		if err != nil || len(got) != c.want || !slices.IsSorted(got) {
			t.Errorf("%s: %q, %v, want %d, sorted", name, got, err, c.want)
		}
		for _, problem := range got {
			if !strings.HasPrefix(problem, operatorAccount) || !strings.Contains(problem, " may list secrets in ") {
				t.Errorf("%s: %q", name, problem)
			}
		}
	}
}

// TestRequestsThatFailEndATest checks that a test that could not look does not pass, and leaves no Echo.
func TestRequestsThatFailEndATest(t *testing.T) {
	for request, tests := range map[string]string{
		"list Pod": "permissions restricted", "create SubjectAccessReview": "permissions", "get Lease": "permissions", "create Echo": "restricted",
	} {
		for test := range strings.FieldsSeq(tests) {
			b := ownBundle(t)
			w := newWorld(t, operatorPod(b))
			w.fail[request] = errInjected
			if problems, err := w.run(t.Context(), test, b); !errors.Is(err, errInjected) {
				t.Errorf("%s without %q: %q, %v, want %v", test, request, problems, err, errInjected)
			}
			clear(w.fail)
			w.echoesLeft(t)
		}
	}
}

func TestPodsOfTheOperator(t *testing.T) {
	b := ownBundle(t)
	pod, other := operatorPod(b), operatorPod(b)
	other.Name, other.Labels = "another", map[string]string{"app": "another"}
	for name, c := range map[string]struct {
		objects []client.Object
		spoil   func(b *bundle.Bundle)
		want    string
	}{
		"one of two pods":   {[]client.Object{pod, other}, func(*bundle.Bundle) {}, ""},
		"no pod":            {[]client.Object{other}, func(*bundle.Bundle) {}, "the operator is not installed: no pod has the labels "},
		"an invalid bundle": {[]client.Object{pod}, func(b *bundle.Bundle) { b.CSV.Spec.Install.Spec.Deployments[0].Spec.Selector.MatchLabels["-"] = "-" }, "Invalid value: \"-\""},
		"another Deployment": {[]client.Object{pod}, func(b *bundle.Bundle) {
			install := &b.CSV.Spec.Install.Spec
			second := bundle.Deployment{Name: "second", Spec: *install.Deployments[0].Spec.DeepCopy()}
			second.Spec.Selector.MatchLabels["app"] = "x"
			install.Deployments = append(install.Deployments, second)
		}, "the operator is not installed"},
	} {
		b := ownBundle(t)
		c.spoil(&b)
		pods, err := newWorld(t, c.objects...).operator(t.Context(), b)
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || c.want == "" && (err != nil || len(pods) != 1 || pods[0].Name != pod.Name) {
			t.Errorf("%s: %d pods, %v, want %q", name, len(pods), err, c.want)
		}
	}
}
