// Package apiserver searches for faults that the operator does not recover from on a real API server. It uses the manager, the caches, the
// permissions and the requests of the shipped operator. Its tests take minutes, so they run only if the environment variable RELIABILITY is
// "all".
//
// TestWalk walks at random over the Echo schema, changes by other clients to an Echo and its children, restarts and faults. After each
// step, the operator must come to rest, and everything must match a fresh Echo with the same spec: children, the fields that the operator
// owns, and the status. rapid's flags set how long it walks (-rapid.checks, -rapid.steps), and repeat a failed walk (-run, -rapid.seed).
// TestWalk prints the commands of a failed walk. Each walker has its own operator, and -parallel sets how many walk concurrently.
//
// TestWatches tampers with the operator's watches, one event in each run of a scenario. At the end, everything must match a run without
// tampering. If an event is dropped, or sent after a later one, the operator may notice only when it lists again.
//
// No other controllers run: the tests do the work of those controllers.
package apiserver
