// Package server responds to every HTTP request with the request that it received.
package server
