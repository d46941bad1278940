// Package checks determines what the runs of path checks mean: their results, and the events that report changes.
//
// Its functions are pure.
package checks
