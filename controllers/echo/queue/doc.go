// Package queue determines when an Echo is reconciled: which events count, how long they wait, which Echo comes first, and whether there is
// anything to do.
package queue
