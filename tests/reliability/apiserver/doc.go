// Package apiserver searches for faults that the operator does not recover from on a real API server. It uses the manager, the caches, the
// permissions and the requests of the shipped operator. Its tests take minutes, so they run only if the environment variable RELIABILITY is
// "all".
//
// TestWalk takes random steps: changes to an Echo that follow its schema, changes by other clients to the Echo and its children, restarts
// and faults. After each step, the operator must come to rest. The children, the fields that the operator owns and the status must then
// match a fresh Echo with the same spec. rapid's flags set the number and the length of the walks (-rapid.checks, -rapid.steps). To repeat
// a failed walk, use -run and -rapid.seed. If a walk fails, TestWalk prints its commands. Each walker has its own operator, and -parallel
// sets how many walkers run concurrently.
//
// TestWatches tampers with one event in the operator's watches in each run of a scenario. The final state must match a run without
// tampering. If an event is dropped or sent out of order, the operator might not notice until it lists again.
//
// No other controllers run. The tests do the work of those controllers.
package apiserver
