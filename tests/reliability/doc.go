// Package reliability searches for faults that the operator does not survive. A sweep runs scenarios with the reconciler as it ships on
// a simulated API server, once for each request and each fault that may happen to it: an error before or after the request is done, a
// crash, or a read that returns an old state. Whatever happens, the state at the end must be that of a run without faults.
package reliability
