package permissions

import "slices"

// Child is a kind of object that the operator makes for an Echo.
type Child struct{ Group, Version, Kind, Resource string }

// Children are all those kinds.
func Children() []Child {
	return []Child{
		{"", "v1", "Service", "services"},
		{"apps", "v1", "Deployment", "deployments"},
		{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"},
		{"networking.k8s.io", "v1", "Ingress", "ingresses"},
		{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"},
	}
}

// Read are the permissions to read what the operator reads, which leaves no trace in a cluster.
func Read() []Permission {
	all := slices.Concat(
		on("example.com", "echoes", "list", "watch"), // whom it works for
		on("", "pods", "list", "watch", "get"),       // what a status tells of pods, and who asks for a companion; get before one is made
		on("", "nodes", "list", "watch"),             // what is wrong with nodes that run pods, and whether they take companions
		on("coordination.k8s.io", "leases", "get"),   // who leads, before it tries to
	)
	for _, child := range Children() { // watched, and read past the cache before the first is made
		all = append(all, on(child.Group, child.Resource, "get", "list", "watch")...)
	}
	return all
}

// Optional are the permissions that the operator needs only at times.
func Optional() []Permission {
	return slices.Concat(
		// The leader election tells by an event of the core API when the lease changes hands; events last an hour.
		on("", "events", "create", "patch"),
		// An event becomes a series when the same happens again and the Echo stays as it is, as when somebody keeps undoing what the
		// operator does.
		on("events.k8s.io", "events", "patch"))
}

// IsForItself tells whether a permission is for the operator's own namespace, and not for those of the Echoes.
func IsForItself(p Permission) bool {
	return p.Group == "coordination.k8s.io" || p.Group == "" && p.Resource == "events"
}

// Sharp are permissions that would let whoever takes the operator over take the cluster, too. To make pods is not more than to make
// Deployments, which is what the operator is for.
func Sharp() []Permission {
	return slices.Concat(
		on("*", "*", "*"),
		on("", "secrets", "get", "list", "watch", "create", "update", "patch", "delete"),
		on("", "configmaps", "update", "patch"),
		on("", "pods", "update", "deletecollection"),
		on("", "pods/exec", "create", "get"),
		on("", "pods/attach", "create", "get"),
		on("", "pods/portforward", "create", "get"),
		on("", "pods/ephemeralcontainers", "update", "patch"),
		on("", "nodes", "update", "patch"),
		on("", "nodes/proxy", "get", "create"),
		on("", "serviceaccounts", "create", "impersonate"),
		on("", "serviceaccounts/token", "create"),
		on("", "users", "impersonate"),
		on("", "groups", "impersonate"),
		on("", "namespaces", "create", "update", "patch", "delete"),
		on("rbac.authorization.k8s.io", "clusterroles", "create", "update", "patch", "bind", "escalate"),
		on("rbac.authorization.k8s.io", "roles", "create", "update", "patch", "bind", "escalate"),
		on("rbac.authorization.k8s.io", "clusterrolebindings", "create", "update", "patch"),
		on("rbac.authorization.k8s.io", "rolebindings", "create", "update", "patch"),
		on("apiextensions.k8s.io", "customresourcedefinitions", "create", "update", "patch", "delete"),
		on("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "create", "update", "patch"),
		on("admissionregistration.k8s.io", "validatingwebhookconfigurations", "create", "update", "patch"),
		on("certificates.k8s.io", "certificatesigningrequests/approval", "update"),
		on("example.com", "echoes", "create", "delete", "deletecollection"),
	)
}
