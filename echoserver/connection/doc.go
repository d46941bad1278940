// Package connection limits what clients can hold: connections, headers, and the memory of both and of their requests.
package connection
