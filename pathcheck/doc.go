// Package pathcheck determines how the proxies in the path to an Echo change requests and responses.
//
// It sends requests to a URL, and compares each sent request with the request that the echo server received. The package imports no
// Kubernetes packages, and other projects can import it.
package pathcheck
