// Package permissions compares the permissions of the operator with what it does in a cluster.
package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Permission is one verb on one resource; a subresource is written as resource/subresource.
type Permission struct{ Group, Resource, Verb string }

// String returns the permission as verb, resource and group, for example "patch deployments.apps".
func (p Permission) String() string {
	return strings.TrimSuffix(p.Verb+" "+p.Resource+"."+p.Group, ".")
}

// on returns the permissions for verbs on a resource.
func on(group, resource string, verbs ...string) []Permission {
	var all []Permission
	for _, verb := range verbs {
		all = append(all, Permission{group, resource, verb})
	}
	return all
}

// Listed returns the permissions that rules grant, without duplicates. A URL is represented as a resource.
func Listed(rules []rbacv1.PolicyRule) []Permission {
	var all []Permission
	for _, rule := range rules {
		for _, url := range rule.NonResourceURLs {
			all = append(all, on("", url, rule.Verbs...)...)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				all = append(all, on(group, resource, rule.Verbs...)...)
			}
		}
	}
	slices.SortFunc(all, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.Compact(all)
}

// Problems returns the listed permissions that the operator does not need, and the needed ones that are not listed. written are the
// permissions that left a trace.
func Problems(listed, written []Permission) []string {
	needed := slices.Concat(read(), optional(), written)
	var problems []string
	for _, p := range listed {
		if !slices.Contains(needed, p) {
			problems = append(problems, fmt.Sprintf("the operator may %s, but there is no trace that it does", p))
		}
	}
	for _, p := range needed {
		if !slices.Contains(listed, p) {
			problems = append(problems, fmt.Sprintf("the operator does %s, but the bundle does not list it", p))
		}
	}
	return problems
}
