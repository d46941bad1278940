// Package pathcheck finds out what the path to an Echo, such as an ingress or a gateway, does to requests and responses: it sends requests
// to a URL, and compares what the echo server behind it received with what was sent.
package pathcheck
