// Package connection limits the resources that clients can hold: connections, headers, and the memory for connections, headers, and
// requests.
package transport
