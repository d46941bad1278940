package server

import (
	"net/http"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// serveInMemory serves a handler as the program does, but over in-memory connections.
func serveInMemory(t *testing.T, h http.Handler) (*http.Server, *echotest.MemoryListener) {
	t.Helper()
	listener := echotest.NewMemoryListener()
	b := boundsFor(h)
	server := newServer(h, connection.DefaultHeaderBytes, b.Reporter)
	bounded := connection.NewBoundedListener(listener, connection.Cost, b)
	go func() { _ = server.Serve(bounded) }()
	t.Cleanup(func() { _ = server.Close() })
	return server, listener
}
