package exchange

import (
	"io"
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

const (
	// ResponseTimeout is how long a client may take to read a response, from the end of the header of its request on. It is longer than the
	// time for the request, so that a client gets a response that ends because of that. Handlers that take longer extend it.
	ResponseTimeout = 35 * time.Second
	// StallTimeout is how long a stream may make no progress, in either direction.
	StallTimeout = 30 * time.Second
	// Sandbox prevents browsers from executing or loading anything in a response.
	Sandbox = "default-src 'none'; sandbox"
)

// SetSecurityHeaders sets the headers of every response. The names are canonical already, so that it need not call Set, which is slower.
func SetSecurityHeaders(header http.Header) {
	values := []string{"no-store", "nosniff", Sandbox}
	header["Cache-Control"] = values[0:1:1]
	header["X-Content-Type-Options"] = values[1:2:2]
	header["Content-Security-Policy"] = values[2:3:3]
}

// Reject responds with one line of text that contains the reason.
func Reject(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", connection.PlainText)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "echo-server: "+why+"\n") // the client may have disconnected
}

// Gets reports whether the method is GET or HEAD. It rejects other requests for something that requires GET.
func Gets(w http.ResponseWriter, r *http.Request, what string) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	Reject(w, http.StatusMethodNotAllowed, what+" requires GET")
	return false
}

// SetDeadlines sets the deadlines of an exchange; the zero time means none. If it fails, reading and writing fail too.
func SetDeadlines(w http.ResponseWriter, deadline time.Time) {
	controller := http.NewResponseController(w)
	_ = controller.SetReadDeadline(deadline)
	_ = controller.SetWriteDeadline(deadline)
}
