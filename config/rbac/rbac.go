// Package rbac contains the rights of the operator.
package rbac

import "embed"

// Files contains the roles of the operator: that of its own namespace, and those of all namespaces.
//
//go:embed role.yaml node_reader_role.yaml gateway_reader_role.yaml metrics_auth_role.yaml leader_election_role.yaml
var Files embed.FS
