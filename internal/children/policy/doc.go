// Package policy determines which specs the operator rejects: specs with conflicting fields, or with more replicas, checks or privileges
// than an administrator allows.
package policy
