// Package requests reads an operator's metrics, such as the number of requests that it sends.
package requests
