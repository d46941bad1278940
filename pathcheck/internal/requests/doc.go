// Package requests examines the requests that an echo server receives: their headers, paths, bodies, and limits, and how their client
// appears.
package requests
