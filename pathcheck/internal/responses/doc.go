// Package responses examines what a client receives: responses, streams, WebSockets and gRPC calls, and how a proxy spreads and
// retries requests.
package responses
