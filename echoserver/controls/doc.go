// Package controls determines how a request or the settings change a response: status, delay, headers, size, format and faults.
//
// A table has a row for each control. Everything that is true of all controls follows from the table.
package controls
