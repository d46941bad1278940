// Package exchange is one request and its response: its share of the budget, its body, its delay, its deadlines and its log line.
package exchange
