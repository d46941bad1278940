// Package connection limits the resources that clients can hold: connections, headers, and the memory for both and for requests.
package connection
