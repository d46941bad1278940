// Package controls determines how a request or the settings change a response: status, delay, headers, size, format, and faults.
//
// Code that handles all controls reads a table with a row for each control.
package controls
