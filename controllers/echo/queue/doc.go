// Package queue determines when an Echo is reconciled: which events count, how long they wait, and which Echo comes first.
//
// It also remembers which Echoes were found to match, so that their reconciles need not build and compare anything.
package queue
