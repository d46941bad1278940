// Package responses examines what comes back: responses, streams, WebSockets, calls of gRPC, TLS, and how requests are spread and sent
// again.
package responses
