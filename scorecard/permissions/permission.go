// Package permissions compares the permissions of the operator with what it does in a cluster.
package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Permission is one verb on one resource; a subresource is written as resource/subresource. Name is that of the only object, empty for all.
type Permission struct{ Group, Resource, Verb, Name string }

// String returns the permission as verb, resource, group and name, for example "patch deployments.apps" or "get leases.coordination.k8s.io/x".
func (p Permission) String() string {
	text := strings.TrimSuffix(p.Verb+" "+p.Resource+"."+p.Group, ".")
	if p.Name != "" {
		text += "/" + p.Name
	}
	return text
}

// on returns the permissions for verbs on a resource.
func on(group, resource string, verbs ...string) []Permission {
	return onNamed(group, resource, "", verbs...)
}

// onNamed returns the permissions for verbs on one object.
func onNamed(group, resource, name string, verbs ...string) []Permission {
	var all []Permission
	for _, verb := range verbs {
		all = append(all, Permission{group, resource, verb, name})
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
				for _, name := range namesOf(rule) {
					all = append(all, onNamed(group, resource, name, rule.Verbs...)...)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(all)
}

// namesOf returns the names of the objects of a rule, an empty one for all.
func namesOf(rule rbacv1.PolicyRule) []string {
	if len(rule.ResourceNames) == 0 {
		return []string{""}
	}
	return rule.ResourceNames
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
