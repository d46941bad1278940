// Package reliability searches for faults that the operator does not survive. The operator runs as it ships, with its manager, caches,
// controllers and queues. Only the network and the time are simulated. A simulated API server answers its requests, and implements the
// parts of other controllers that an Echo depends on.
//
// A run combines a scenario, which is a sequence of a person's actions, with a plan, which is what goes wrong: an error before or after a
// request is carried out, a process that ends, a late watch, or another client's change. Whatever happens, the end must be the same as in a
// run without faults: the same objects, no event twice, no request when nothing is left to do.
//
// With amnesia, the operator loses its memories at random moments, and only requests and reconciles may increase. AMNESIA=SEED runs all
// plans with it.
//
// Without settings, each fault is tried at each request for creating, changing and deleting an Echo. RELIABILITY=all tries all scenarios
// and faults, pairs of faults, and every state from which the operator may start.
package reliability
