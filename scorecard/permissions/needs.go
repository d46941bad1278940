package permissions

import "slices"

// Child is a kind of object that the operator creates for an Echo.
type Child struct{ Group, Version, Kind, Resource string }

// Children returns all kinds of children.
func Children() []Child {
	return []Child{
		{"", "v1", "Service", "services"},
		{"apps", "v1", "Deployment", "deployments"},
		{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"},
		{"networking.k8s.io", "v1", "Ingress", "ingresses"},
		{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"},
	}
}

// lease is the name of the lease that the current leader holds.
const lease = "echo-operator.example.com"

// read returns the permissions for what the operator reads, which leaves no trace in a cluster.
func read() []Permission {
	all := slices.Concat(
		on("example.com", "echoes", "list", "watch"), // what it reconciles
		on("", "pods", "list", "watch", "get"),       // for the status, and pods that request a companion; get before one is created
		on("", "nodes", "list", "watch"),             // problems of nodes that run pods, and whether companions can run on them
		onNamed("coordination.k8s.io", "leases", lease, "get"),
	)
	for _, child := range Children() { // watched, and read without the cache before the first is created
		all = append(all, on(child.Group, child.Resource, "get", "list", "watch")...)
	}
	return all
}

// optional returns the permissions that the operator does not always use.
func optional() []Permission {
	return slices.Concat(
		// An event becomes a series if it is repeated for an unchanged Echo, for example if another client keeps reverting the changes of
		// the operator.
		on("events.k8s.io", "events", "patch"),
		console(),
		monitoring(),
		gateways(),
		checks(),
		// The TLS profile of an OpenShift cluster.
		onNamed("config.openshift.io", "apiservers", "cluster", "get", "list", "watch"))
}

// monitoring returns the permissions that are used only where the API of the Prometheus Operator is served.
func monitoring() []Permission {
	const group = "monitoring.coreos.com"
	all := on(group, "podmonitors", "get", "list", "watch", "create", "patch", "delete")
	for _, resource := range []string{"servicemonitors", "prometheusrules"} {
		all = slices.Concat(all, on(group, resource, "create"), onNamed(group, resource, "echo-operator", "patch", "delete"))
	}
	return all
}

// checks returns the permissions that are used only for Echoes with checks.
func checks() []Permission {
	return on("batch", "cronjobs", "get", "list", "watch", "create", "patch", "delete")
}

// gateways returns the permissions that are used only where Gateway API is served.
func gateways() []Permission {
	const group = "gateway.networking.k8s.io"
	all := on(group, "gateways", "list", "watch") // for the URL of an Echo
	for _, resource := range []string{"backendtlspolicies", "grpcroutes", "httproutes"} {
		all = append(all, on(group, resource, "get", "list", "watch", "create", "patch", "delete")...)
	}
	return all
}

// console returns the permissions for samples and quick starts, which are used only where the API of the OpenShift console is served. Their
// owner is found among the cluster roles.
func console() []Permission {
	var all []Permission
	for _, resource := range []string{"consoleyamlsamples", "consolequickstarts"} {
		all = append(all, on("console.openshift.io", resource, "create")...)
		for _, name := range []string{"example-checks", "example-faults", "example-full", "example-gateway", "example-grpc", "example-hello", "example-ingress",
			"example-tls", "first-echo", "snippet-env", "snippet-ingress", "snippet-response", "snippet-zones"} {
			all = append(all, onNamed("console.openshift.io", resource, "echo-operator-"+name, "patch", "delete")...)
		}
	}
	return append(all, on("rbac.authorization.k8s.io", "clusterroles", "list")...)
}

// IsForOwnNamespace reports whether a permission is for the namespace of the operator, and not for those of the Echoes.
func IsForOwnNamespace(p Permission) bool {
	return p.Group == "coordination.k8s.io" || p.Group == "monitoring.coreos.com" && p.Resource != "podmonitors"
}

// Dangerous returns permissions by which an attacker who controls the operator could control the cluster. Creating pods is not among them:
// it gives no more control than creating Deployments, which the operator must do.
func Dangerous() []Permission {
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
		on("coordination.k8s.io", "leases", "update", "patch", "delete", "deletecollection"), // those of nodes and of the control plane, too
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
