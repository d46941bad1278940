// Package apiserver uses a real API server to search for faults from which the operator does not recover. It uses the shipped operator's
// manager, caches, permissions, and requests. Its tests take minutes, so they run only with RELIABILITY=all.
//
// TestWalk takes random steps: changes to an Echo that are drawn from its schema, other clients' changes to the Echo and its children,
// restarts, and faults. After each step, the operator must reach a steady state. The children, the fields in them that the operator owns,
// and the status must then be the same as for a fresh Echo with the same spec. -rapid.checks and -rapid.steps set the number and the length
// of the walks. If a walk fails, TestWalk prints the walk's commands. To repeat the walk, use -run and -rapid.seed. Each walk has its own
// operator, and -parallel sets how many walks run concurrently.
//
// In each run of a scenario, TestWatches tampers with one event in the operator's watches. The final state must be the same as without
// tampering. If an event is dropped or sent out of order, the operator might not notice until it lists the objects again.
//
// No other controllers run, so the tests do the work of those controllers.
package apiserver
