// Package checks determines the results of the checks of an Echo from the pods of their runs, and the events that report what changed.
// Its functions are pure.
package checks
