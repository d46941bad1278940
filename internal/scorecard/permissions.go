package scorecard

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// permissions tests that the operator has every permission that the bundle lists, and no dangerous permissions. The integration tests show
// that the operator needs each listed permission.
func (c *cluster) permissions(ctx context.Context, b Bundle) ([]string, error) {
	pods, err := c.operator(ctx, b)
	if err != nil {
		return nil, err
	}
	own, account := pods[0].Namespace, b.Permissions[0].ServiceAccountName
	var problems []string
	checks := checksOf(b, own, c.namespace)
	for _, check := range checks {
		review := check.review(own, account)
		if err := c.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("reviewing the access of %s: %w", account, err)
		}
		switch {
		case check.isListed && !review.Status.Allowed:
			problems = append(problems, fmt.Sprintf("%s may not %s in %q, though the bundle lists it", account, check.permission, check.namespace))
		case !check.isListed && review.Status.Allowed:
			problems = append(problems, fmt.Sprintf("%s may %s in %q, which is dangerous", account, check.permission, check.namespace))
		}
	}
	c.logf("%d permissions checked: %d problems", len(checks), len(problems))
	return problems, nil
}

// check is a permission in a namespace, or in all namespaces if namespace is empty. It is either listed in the bundle or dangerous.
type check struct {
	namespace  string
	permission Permission
	isListed   bool
}

// checksOf returns the permission checks for an operator that runs in one namespace (own) and watches another namespace (other).
func checksOf(b Bundle, own, other string) []check {
	var all []check
	for _, p := range Listed(b.Permissions[0].Rules) {
		namespace := other
		if p.Group == "coordination.k8s.io" || p.Group == "monitoring.coreos.com" && p.Resource != "podmonitors" {
			namespace = own
		}
		all = append(all, check{namespace, p, true})
	}
	for _, p := range Listed(b.ClusterPermissions[0].Rules) {
		all = append(all, check{"", p, true})
	}
	for _, p := range Listed(dangerous()) {
		all = append(all, check{"", p, false}, check{own, p, false}, check{other, p, false})
	}
	return all
}

func (c check) review(namespace, account string) *authorizationv1.SubjectAccessReview {
	resource, subresource, _ := strings.Cut(c.permission.Resource, "/")
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + namespace + ":" + account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: c.namespace, Group: c.permission.Group,
			Resource: resource, Subresource: subresource, Verb: c.permission.Verb, Name: c.permission.Name},
	}}
}

// dangerous returns rules that would let an attacker who controls the operator take control of the cluster. The right to create pods is
// omitted, because it gives no more control than the right to create Deployments, which the operator needs.
func dangerous() []rbacv1.PolicyRule {
	rule := func(group, resources, verbs string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Fields(resources), Verbs: strings.Fields(verbs)}
	}
	return []rbacv1.PolicyRule{
		rule("*", "*", "*"),
		rule("", "secrets", "get list watch create update patch delete"),
		rule("", "configmaps nodes pods/ephemeralcontainers", "update patch"),
		rule("", "pods", "update deletecollection"),
		rule("", "pods/exec pods/attach pods/portforward nodes/proxy", "create get"),
		rule("", "serviceaccounts", "create impersonate"),
		rule("", "serviceaccounts/token", "create"),
		rule("", "users groups", "impersonate"),
		rule("", "namespaces", "create update patch delete"),
		rule("coordination.k8s.io", "leases", "update patch delete deletecollection"), // nodes and the control plane also have leases
		rule("rbac.authorization.k8s.io", "clusterroles roles", "create update patch bind escalate"),
		rule("rbac.authorization.k8s.io", "clusterrolebindings rolebindings", "create update patch"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "create update patch delete"),
		rule("admissionregistration.k8s.io", "mutatingwebhookconfigurations validatingwebhookconfigurations", "create update patch"),
		rule("certificates.k8s.io", "certificatesigningrequests/approval", "update"),
		rule("example.com", "echoes", "create delete deletecollection"),
	}
}
