// Package statusapi serves the status API, and lets the API server authorize its clients.
//
// It uses the HTTPS metrics endpoint, responds from memory, and refers clients to the leader for data that only the leader has.
package statusapi
