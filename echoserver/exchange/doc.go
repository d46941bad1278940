// Package exchange is one request and its response: what it holds of the budget, its body, its delay, its deadlines and its log line.
package exchange
