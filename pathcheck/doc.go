// Package pathcheck determines how the proxies in the path to an Echo change requests and responses.
//
// It sends requests to a URL, and compares each request as sent with the request as the echo server received it. The package imports no
// Kubernetes packages, and other projects can import it.
package pathcheck
