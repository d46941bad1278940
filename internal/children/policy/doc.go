// Package policy determines which specs the operator rejects: fields that exclude each other, and more replicas, checks or privileges than
// an administrator allows.
package policy
