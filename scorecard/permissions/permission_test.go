package permissions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestString(t *testing.T) {
	for permission, want := range map[Permission]string{
		{"", "pods", "get", ""}:                       "get pods",
		{"apps", "deployments", "patch", ""}:          "patch deployments.apps",
		{"", "pods/exec", "create", ""}:               "create pods/exec",
		{"example.com", "echoes/status", "patch", ""}: "patch echoes/status.example.com",
		{"", "/metrics", "get", ""}:                   "get /metrics",
		{"*", "*", "*", ""}:                           "* *.*",
		{"apps", "deployments", "get", "x"}:           "get deployments.apps/x",
	} {
		if got := permission.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestListedIsSortedAndWhole(t *testing.T) {
	for name, c := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  []Permission
	}{
		"no rules":      {nil, nil},
		"without verbs": {[]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}}}, nil},
		"sorted by group, then resource, then verb": {
			[]rbacv1.PolicyRule{{APIGroups: []string{"b", "a"}, Resources: []string{"y", "x"}, Verbs: []string{"list", "get"}}},
			[]Permission{{"a", "x", "get", ""}, {"a", "x", "list", ""}, {"a", "y", "get", ""}, {"a", "y", "list", ""},
				{"b", "x", "get", ""}, {"b", "x", "list", ""}, {"b", "y", "get", ""}, {"b", "y", "list", ""}},
		},
		"once, whatever rule gives it": {
			[]rbacv1.PolicyRule{{APIGroups: []string{"a"}, Resources: []string{"x"}, Verbs: []string{"get", "get"}}, {APIGroups: []string{"b", "a"}, Resources: []string{"x"}, Verbs: []string{"get"}}},
			[]Permission{{"a", "x", "get", ""}, {"b", "x", "get", ""}},
		},
		"one object": {
			[]rbacv1.PolicyRule{{APIGroups: []string{"a"}, Resources: []string{"x"}, ResourceNames: []string{"o"}, Verbs: []string{"get"}}},
			[]Permission{{"a", "x", "get", "o"}},
		},
		"URLs with their verbs": {
			[]rbacv1.PolicyRule{{NonResourceURLs: []string{"/b", "/a"}, Verbs: []string{"get", "post"}}},
			[]Permission{{"", "/a", "get", ""}, {"", "/a", "post", ""}, {"", "/b", "get", ""}, {"", "/b", "post", ""}},
		},
	} {
		if diff := cmp.Diff(c.want, Listed(c.rules)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestOptionalPermissionsLeaveNoTrace checks that they must be listed, and that no trace of them is required.
func TestOptionalPermissionsLeaveNoTrace(t *testing.T) {
	all := append(read(), optional()...)
	if diff := cmp.Diff([]string(nil), Problems(all, nil)); diff != "" {
		t.Errorf("with what leaves no trace (-want +got):\n%s", diff)
	}
	for i, missing := range all {
		want := []string{"the operator does " + missing.String() + ", but the bundle does not list it"}
		listed := append(append([]Permission(nil), all[:i]...), all[i+1:]...)
		if diff := cmp.Diff(want, Problems(listed, nil)); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", missing, diff)
		}
	}
}

func TestProblems(t *testing.T) {
	secrets, jobs := Permission{"", "secrets", "get", ""}, Permission{"batch", "jobs", "create", ""}
	for name, c := range map[string]struct {
		listed, written []Permission
		want            []string
	}{
		"listed and used":     {[]Permission{jobs}, []Permission{jobs}, nil},
		"listed and not used": {[]Permission{jobs}, nil, []string{"the operator may create jobs.batch, but there is no trace that it does"}},
		"used and not listed": {nil, []Permission{jobs}, []string{"the operator does create jobs.batch, but the bundle does not list it"}},
		"both": {[]Permission{secrets}, []Permission{jobs}, []string{
			"the operator may get secrets, but there is no trace that it does", "the operator does create jobs.batch, but the bundle does not list it"}},
		"another verb": {[]Permission{{"batch", "jobs", "get", ""}}, []Permission{jobs}, []string{
			"the operator may get jobs.batch, but there is no trace that it does", "the operator does create jobs.batch, but the bundle does not list it"}},
	} {
		listed := append(append(read(), optional()...), c.listed...)
		if diff := cmp.Diff(c.want, Problems(listed, c.written)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
