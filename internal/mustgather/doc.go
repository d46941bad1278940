// Package mustgather collects diagnostic data about the operator and its Echoes for a bug report.
//
// It omits Secrets, the values of environment variables, arguments and bodies.
package mustgather
