// Package controls is what a request or the settings change in a response: status, delay, headers, size, format and faults.
// The table in table.go has a row for each control.
package controls
