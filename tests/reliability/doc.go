// Package reliability searches for faults that the operator does not recover from. The operator runs with the shipped manager, caches,
// controllers, and queues. Only the network and the time are simulated. A simulated API server responds to the operator's requests. The
// simulation includes the parts of other controllers that an Echo depends on.
//
// A scenario is a sequence of actions by a user or another client. A plan lists faults: an error before or after a request takes effect, a
// process that exits, a delayed watch, or another client's change. A run carries out a scenario with a plan. Regardless of the faults, the
// final state must be the same as without faults. The operator must not repeat an event, or send requests when there is nothing left to do.
//
// With amnesia, the operator loses its in-memory state at random moments. This may increase the number of requests and reconciles, but must
// change nothing else. If AMNESIA=SEED is set, all plans run with amnesia.
//
// By default, the tests run all scenarios, also with amnesia, but try single faults only while an Echo is created, changed, and deleted. With
// RELIABILITY=all, they try all faults in all scenarios, and pairs of faults.
package reliability
