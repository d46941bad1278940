package exchange

import (
	"io"
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

const (
	// ResponseTimeout is how long a client may take to read a response, measured from the end of the request's header. It is longer than
	// the time limit for the request, so that a client whose request times out still gets a response. Handlers that take longer extend it.
	ResponseTimeout = 35 * time.Second
	// StallTimeout is the maximum time that either direction of a stream can go without progress.
	StallTimeout = 30 * time.Second
	// Sandbox prevents browsers from executing or loading anything in a response.
	Sandbox = "default-src 'none'; sandbox"
)

// SetSecurityHeaders sets the security headers that every response has. Calling header.Set would be slower, because it canonicalizes the
// names.
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

// Gets reports whether the method is GET or HEAD, and rejects a request with any other method.
func Gets(w http.ResponseWriter, r *http.Request, what string) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	Reject(w, http.StatusMethodNotAllowed, what+" requires GET")
	return false
}

// SetDeadlines sets the deadlines of an exchange. The zero time means no deadline. If setting a deadline fails, so do reading and writing.
func SetDeadlines(w http.ResponseWriter, deadline time.Time) {
	controller := http.NewResponseController(w)
	_ = controller.SetReadDeadline(deadline)
	_ = controller.SetWriteDeadline(deadline)
}
