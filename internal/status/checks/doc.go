// Package checks determines the results of path check runs, and the events that report changes.
//
// Its functions are pure.
package checks
