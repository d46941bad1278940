// Package mustgather collects diagnostic data about the operator and its Echoes for a bug report.
//
// The data does not include Secrets, arguments, bodies or the values of environment variables.
package mustgather
