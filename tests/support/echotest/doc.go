// Package echotest provides clients, servers, listeners, certificates, and wait functions for the tests of the echo server and pathcheck.
package echotest
