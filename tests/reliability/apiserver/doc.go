// Package apiserver uses a real API server to search for faults from which the operator does not recover. It uses the shipped operator's
// manager, caches, permissions, and requests. Its test takes minutes, so it runs only with RELIABILITY=all.
//
// TestWalk takes random steps: changes to an Echo that are drawn from its schema, losses of its children, and restarts. After each step, the
// operator must come to rest. The children, the fields in them that the operator owns, and the status must then be the same as for a fresh
// Echo with the same spec. -rapid.checks and -rapid.steps set the number and the length of the walks. If a walk fails, TestWalk prints its
// steps. To repeat the walk, use -run and -rapid.seed. Each walk has its own operator, and -parallel sets how many walks run concurrently.
//
// No other controllers run, so the test does the work of those controllers.
package apiserver
