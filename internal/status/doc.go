// Package status determines the outcome of reconciling an Echo: the Echo's status, its events, and how to handle an error.
//
// The functions in this package are pure: they compute their results from the reconcile's observations, and send no requests.
package status
