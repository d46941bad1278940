// Package queue determines when an Echo is reconciled: which events count, how long they wait, and which Echo comes first.
//
// It also remembers which Echoes were found to match, so that their reconciles do not have to build and compare objects.
package queue
