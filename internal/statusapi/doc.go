// Package statusapi is the status API: it shows what the operator knows, on the HTTPS endpoint that also serves its metrics.
//
// access.go authenticates and authorizes requests by the API server, target.go says what a request is about, echoes.go and
// diagnostics.go respond from memory, view.go says what is shown of an Echo, and leader.go refers to the leader.
package statusapi
