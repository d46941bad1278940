// Package requests examines the requests that an echo server receives: their headers, paths, bodies and limits, and what their client
// appears to be.
package requests
