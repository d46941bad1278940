// Package echotest is for tests of the packages of the echo server: clients, listeners, and what waits.
package echotest
