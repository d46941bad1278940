// Package queue determines when an Echo is reconciled: which events matter, how long they are delayed, and which Echo comes first.
//
// It also remembers the Echoes whose children matched their desired state. Reconciles of these Echoes build and compare no objects.
package queue
