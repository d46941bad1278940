// Package requests reads an operator's metrics: how many requests it sends, and what else it reports about its work.
package requests
