// Package policy determines which specs the operator rejects: specs with conflicting fields, and specs that exceed an administrator's
// limits for replicas, checks, and privileges.
package objects
