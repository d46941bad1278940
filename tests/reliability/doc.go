// Package reliability searches for faults that the operator does not survive. The operator runs as it ships, with its manager, caches,
// controllers and queues; only the network and the time are simulated. A simulated API server answers its requests, with the parts of
// the other controllers that an Echo depends on.
//
// A run is a scenario, which is what a person does, with a plan, which is what goes wrong: an error before or after a request is done, a
// process that ends, a watch that is late, another client who changes something. Whatever happens, the end must be that of a run without
// faults: the same objects, no event twice, no request when nothing is left to do.
//
// With amnesia, the operator loses what it remembers at random moments, and only requests and reconciles may rise. AMNESIA=SEED runs all
// plans with it.
//
// Without settings, each fault is tried at each request of creating, changing and deleting an Echo. With RELIABILITY=all, all scenarios
// and faults are tried, pairs of faults, and every state from which the operator may start.
package reliability
