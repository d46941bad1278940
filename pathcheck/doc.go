// Package pathcheck determines how the proxies in the path to an Echo change requests and responses.
//
// It sends requests to a URL, and compares what the echo server received with what was sent. It imports no Kubernetes packages, and other
// projects can import it.
package pathcheck
