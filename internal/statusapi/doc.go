// Package statusapi serves the status API, and authorizes its clients by the API server.
//
// It uses the HTTPS endpoint of the metrics, responds from memory, and refers to the leader for what only the leader has.
package statusapi
