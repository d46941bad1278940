// Package queue determines when an Echo is reconciled: which events count, how long they wait, and which Echo comes first.
//
// It also remembers which Echoes were found to match, so that a reconcile of one has nothing to build and compare.
package queue
