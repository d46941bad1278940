// Package apiserver searches for faults that the operator does not survive on a real API server, with the manager, the caches, the rights
// and the requests that ship. It takes minutes, so its tests are skipped unless the environment variable RELIABILITY is "all".
//
// TestWalk walks at random over the schema, what others do to an Echo and its children, restarts and faults. After each step the
// operator must come to rest, and everything must be as for a fresh Echo of the same spec.
package apiserver
