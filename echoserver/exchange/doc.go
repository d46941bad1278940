// Package exchange handles one request and its response: their share of the memory budget, the body, the delay, the deadlines, and the log
// line.
package exchange
