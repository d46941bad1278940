// Package checks determines the results of path check runs, and the events that report changes.
//
// The functions in this package are pure.
package status
