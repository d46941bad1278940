// Package controls determines how a request or the settings change a response: status, delay, headers, size, format and faults.
//
// A table has a row for each control. Code that handles all controls reads the table.
package controls
