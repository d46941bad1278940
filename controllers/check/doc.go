// Package check runs the Echoes' path checks as CronJobs, and reports their results.
//
// It shares an Echo's status with package echo. Each package writes its own part of the status, and the API server rejects a write that is
// based on an old version.
package check
