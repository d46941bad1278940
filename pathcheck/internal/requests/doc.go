// Package requests examines what an echo server receives: their headers, paths, bodies and limits, and who their client seems to be.
package requests
