package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
	"github.com/echo-operator/echo-operator/scorecard/permissions"
)

// permissions tests that the operator has every permission that the bundle lists, needs each of them, and has no dangerous ones.
func (c *cluster) permissions(ctx context.Context, b bundle.Bundle) ([]string, error) {
	pods, err := c.operator(ctx, b)
	if err != nil {
		return nil, err
	}
	grants := grantsOf(b, pods[0].Namespace, c.namespace)
	refused, err := c.refused(ctx, grants)
	if err != nil {
		return nil, err
	}
	dangerous, err := c.dangerous(ctx, grants, pods[0].Namespace)
	if err != nil {
		return nil, err
	}
	traces, err := c.traces(ctx, pods)
	if err != nil {
		return nil, err
	}
	var listed []permissions.Permission
	for _, g := range grants {
		listed = append(listed, g.permission)
	}
	return slices.Concat(refused, dangerous, permissions.Problems(listed, traces.Written())), nil
}

// grant is a permission that a service account has in a namespace, or in all namespaces if that is empty.
type grant struct {
	account, namespace string
	permission         permissions.Permission
}

// grantsOf returns what the bundle grants to the operator, which runs in the namespace own and watches the namespace other.
func grantsOf(b bundle.Bundle, own, other string) []grant {
	var grants []grant
	install := b.CSV.Spec.Install.Spec
	for _, p := range install.Permissions {
		for _, permission := range permissions.Listed(p.Rules) {
			namespace := other
			if permissions.IsForOwnNamespace(permission) {
				namespace = own
			}
			grants = append(grants, grant{account(own, p), namespace, permission})
		}
	}
	for _, p := range install.ClusterPermissions {
		for _, permission := range permissions.Listed(p.Rules) {
			grants = append(grants, grant{account(own, p), "", permission})
		}
	}
	return grants
}

func account(namespace string, p bundle.Permissions) string {
	return "system:serviceaccount:" + namespace + ":" + p.ServiceAccountName
}

// refused returns the permissions that the bundle lists but the operator does not have in the cluster.
func (c *cluster) refused(ctx context.Context, grants []grant) ([]string, error) {
	var problems []string
	for _, g := range grants {
		allowed, err := c.allows(ctx, g)
		if err != nil {
			return nil, err
		}
		if !allowed {
			problems = append(problems, fmt.Sprintf("%s may not %s in %q, though the bundle lists it", g.account, g.permission, g.namespace))
		}
	}
	c.logf("%d listed permissions, of which %d are missing", len(grants), len(problems))
	return problems, nil
}

// dangerous returns the dangerous permissions that the operator has: in its own namespace, in that of the Echoes, or in all namespaces.
func (c *cluster) dangerous(ctx context.Context, grants []grant, own string) ([]string, error) {
	accounts := map[string]bool{}
	for _, g := range grants {
		accounts[g.account] = true
	}
	var problems []string
	for _, account := range slices.Sorted(maps.Keys(accounts)) {
		for _, permission := range permissions.Dangerous() {
			for _, namespace := range []string{"", own, c.namespace} {
				allowed, err := c.allows(ctx, grant{account, namespace, permission})
				if err != nil {
					return nil, err
				}
				if allowed {
					problems = append(problems, fmt.Sprintf("%s may %s in %q", account, permission, namespace))
				}
			}
		}
	}
	c.logf("%d dangerous permissions, of which %d are granted", len(permissions.Dangerous()), len(problems))
	return problems, nil
}

// allows asks the API server whether a service account has a permission.
func (c *cluster) allows(ctx context.Context, g grant) (bool, error) {
	review := reviewOf(g)
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("reviewing the access of %s: %w", g.account, err)
	}
	return review.Status.Allowed, nil
}

func reviewOf(g grant) *authorizationv1.SubjectAccessReview {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(g.account, "system:serviceaccount:"), ":")
	spec := authorizationv1.SubjectAccessReviewSpec{
		User:   g.account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	resource, subresource, _ := strings.Cut(g.permission.Resource, "/")
	if resource == "" { // a URL begins with a slash
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: g.permission.Resource, Verb: g.permission.Verb}
	} else {
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Namespace: g.namespace,
			Group: g.permission.Group, Resource: resource, Subresource: subresource, Verb: g.permission.Verb, Name: g.permission.Name}
	}
	return &authorizationv1.SubjectAccessReview{Spec: spec}
}
