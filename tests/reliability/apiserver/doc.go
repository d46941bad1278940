// Package apiserver searches for faults that the operator does not survive on a real API server, with the manager, the caches, the rights
// and the requests that ship. It takes minutes, so its tests are skipped unless the environment variable RELIABILITY is "all".
//
// TestWalk walks at random over the schema of Echoes, what others do to an Echo and its children, restarts and faults. After each step
// the operator must come to rest, and everything must be as for a fresh Echo of the same spec: children, the fields that the operator
// owns, and the status. The flags of rapid set how long it walks (-rapid.checks, -rapid.steps), and repeat a walk that failed, of which
// it prints the commands (-run, -rapid.seed). Each walker has an operator of its own, and -parallel says how many walk at once.
//
// TestWatches tampers with the watches of the operator, one event in each run of a scenario. At the end everything must be as in a run
// without tampering; an event that is dropped, or sent after a later one, may be noticed only when the operator lists again.
//
// No other controllers run: the tests do what these would do.
package apiserver
