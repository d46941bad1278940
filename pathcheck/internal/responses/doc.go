// Package responses examines what a client receives: responses, streams, WebSockets and gRPC calls, and how a proxy balances and retries
// requests.
package responses
