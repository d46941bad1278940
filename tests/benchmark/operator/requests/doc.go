// Package requests reads an operator's metrics: the number of requests that it sends, and other figures about its work.
package requests
