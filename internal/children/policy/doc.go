// Package policy determines what an administrator allows Echoes: replicas, checks, and a Pod Security Standard.
package policy
