// Package mustgather collects diagnostic data about the operator and its Echoes for a bug report.
//
// The data excludes Secrets, arguments, response bodies, and the values of environment variables.
package mustgather
