// Package check runs the path checks of Echoes as CronJobs, and reports their results.
//
// It shares the status of an Echo with package echo: each writes its own part, and the API server refuses a write of an old version.
package check
