// Package responses examines what a client receives (responses, streams, WebSockets, and gRPC calls), and how proxies balance and retry
// requests.
package probe
