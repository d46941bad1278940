// Package status determines what a reconcile of an Echo means: its status, its events, and what an error requires.
//
// Its functions are pure: they take what the reconcile observed, return values, and send no requests.
package status
