// Package server responds to every HTTP request with the request that it received: it listens, admits requests, routes them, and ends.
package server
