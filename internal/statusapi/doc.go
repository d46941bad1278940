// Package statusapi serves the status API to clients that the API server authorizes.
//
// It uses the HTTPS metrics endpoint, responds from memory, and refers clients to the leader for data that only the leader has.
package statusapi
