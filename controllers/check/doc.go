// Package check runs the Echoes' path checks as CronJobs, and reports their results.
//
// Packages check and echo write different parts of an Echo's status. The API server rejects a write that is based on an old version of the
// Echo.
package check
