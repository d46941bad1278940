// Package requests examines what arrives of requests: their headers, paths and bodies, and who their client seems to be.
package requests
