package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/echo-operator/echo-operator/config/rbac"
)

// right is a right that the operator needs, in all namespaces if it names none.
type right authorizationv1.ResourceAttributes

func (r right) String() string {
	text := r.Verb + " " + where(strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")+".v1."+r.Group, r.Namespace, r.Name)
	if r.Namespace == "" {
		text += " in all namespaces"
	}
	return text
}

// neededRights returns the rights of the roles as shipped: on objects of Echoes in the namespaces that are read, and on leases in that of the
// operator.
func (g *gatherer) neededRights(namespace string) ([]right, error) {
	var rights []right
	for file, namespaces := range map[string][]string{
		"role.yaml": g.scope(), "node_reader_role.yaml": {""}, "gateway_reader_role.yaml": {""}, "metrics_auth_role.yaml": {""}, "leader_election_role.yaml": {namespace},
	} {
		text, err := rbac.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		role := rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(text, &role); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, rule := range role.Rules {
			rights = append(rights, rightsOf(rule, namespaces)...)
		}
	}
	slices.SortFunc(rights, func(a, b right) int { return strings.Compare(a.String(), b.String()) })
	return rights, nil
}

// rightsOf returns the rights of a rule, which has one API group, and at most one name.
func rightsOf(rule rbacv1.PolicyRule, namespaces []string) []right {
	var rights []right
	r := right{Group: rule.APIGroups[0], Name: strings.Join(rule.ResourceNames, "")}
	for _, resource := range rule.Resources {
		r.Resource, r.Subresource, _ = strings.Cut(resource, "/")
		for _, r.Verb = range rule.Verbs {
			for _, r.Namespace = range namespaces {
				rights = append(rights, r)
			}
		}
	}
	return rights
}

// readRights reads the roles of the operator, and asks for each right that it needs.
func (g *gatherer) readRights(ctx context.Context) {
	for _, deployment := range g.operators() {
		account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: deployment.GetNamespace(), Name: textOf(deployment, "spec", "template", "spec", "serviceAccountName")}
		g.list(ctx, clusterRoleBindings, []string{""}, "", g.keepBinding(ctx, clusterRoleBindings, account))
		g.list(ctx, roleBindings, g.scope(account.Namespace), "", g.keepBinding(ctx, roleBindings, account))
		if err := g.review(ctx, account); err != nil {
			g.miss("the rights of the operator in the namespace "+account.Namespace, err)
		}
	}
}

// keepBinding returns a function that keeps bindings of a service account, with their roles.
func (g *gatherer) keepBinding(ctx context.Context, kind string, account rbacv1.Subject) func(*object) {
	return func(binding *object) {
		if !slices.ContainsFunc(itemsOf(*binding, "subjects"), func(s object) bool {
			return textOf(s, "kind") == account.Kind && textOf(s, "namespace") == account.Namespace && textOf(s, "name") == account.Name
		}) {
			return
		}
		g.keep(kind)(binding)
		if textOf(*binding, "roleRef", "kind") == "Role" {
			g.get(ctx, roles, binding.GetNamespace(), textOf(*binding, "roleRef", "name"))
		} else {
			g.get(ctx, clusterRoles, "", textOf(*binding, "roleRef", "name"))
		}
	}
}

// review asks whether a service account has the rights that the operator needs, and writes the answers.
func (g *gatherer) review(ctx context.Context, account rbacv1.Subject) error {
	rights, err := g.neededRights(account.Namespace)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, r := range rights {
		allowed, err := g.isAllowed(ctx, account, r)
		if err != nil {
			return err
		}
		if !allowed {
			g.denied = append(g.denied, r.String())
		}
		fmt.Fprintf(&lines, "%-5t %s\n", allowed, r)
	}
	g.write(filepath.Join("namespaces", account.Namespace, "operator-rights.txt"), lines.String())
	return nil
}

func (g *gatherer) isAllowed(ctx context.Context, account rbacv1.Subject, r right) (bool, error) {
	review, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
		ResourceAttributes: (*authorizationv1.ResourceAttributes)(&r),
	}}, metav1.CreateOptions{})
	return err == nil && review.Status.Allowed, err
}
