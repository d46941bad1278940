// Package reliability searches for faults that the operator does not recover from. The operator runs with the manager, caches, controllers
// and queues that ship. Only the network and the time are simulated. A simulated API server responds to its requests, and implements the
// parts of other controllers that an Echo depends on.
//
// A run combines a scenario with a plan. A scenario is a sequence of a person's actions. A plan is the faults: an error before or after a
// request is carried out, a process that ends, a late watch, or another client's change. Whatever happens, the end must match a run without
// faults: the same objects, no event twice, and no request when there is nothing left to do.
//
// With amnesia, the operator loses its memories at random moments, and only the number of requests and reconciles may increase.
// AMNESIA=SEED runs all plans with amnesia.
//
// Without settings, the tests try each fault at each request that creates, changes or deletes an Echo. RELIABILITY=all tries all scenarios
// and faults, pairs of faults, and every state in which the operator may start.
package reliability
