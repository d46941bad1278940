// Package status determines the outcome of a reconcile of an Echo: its status, its events, and how to handle an error.
//
// Its functions are pure: they take what the reconcile observed and return values, but send no requests.
package status
