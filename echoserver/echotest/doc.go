// Package echotest has clients, listeners and waiting for the tests of the echo server.
package echotest
