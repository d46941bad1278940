// Package server is the echo server: it reads the settings, listens, admits requests, routes them, and shuts down.
package server
