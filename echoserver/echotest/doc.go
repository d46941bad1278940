// Package echotest provides clients, listeners, and wait functions for the echo server's tests.
package echotest
