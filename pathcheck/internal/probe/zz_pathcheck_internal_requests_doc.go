// Package requests examines the requests that an echo server receives: their headers, paths, bodies, and limits, and what they reveal about
// the client.
package probe
