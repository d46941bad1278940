// Package queue determines when an Echo is reconciled: which events matter, how long they are delayed, and which Echo comes first.
//
// It also remembers which Echoes' children matched their desired state, so that reconciles of these Echoes do not have to build and compare
// objects.
package queue
