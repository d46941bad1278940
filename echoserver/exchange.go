package main

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// maxRequestID is the longest X-Request-Id that is taken over, in bytes.
const maxRequestID = 128

// exchange is one answer under way, with what the log and the metrics say of it.
type exchange struct {
	http.ResponseWriter
	id      string
	began   time.Time
	status  int // 0: nothing answered yet
	written int64
}

func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{ResponseWriter: w, id: requestID(r.Header), began: time.Now()}
}

// requestID is the id that a proxy gave the request, or a new one. It needs not be secret.
func requestID(headers http.Header) string {
	if id := headers.Get("X-Request-Id"); id != "" && len(id) <= maxRequestID {
		return id
	}
	return strconv.FormatUint(rand.Uint64()|1<<63, 16) // always 16 digits
}

// WriteHeader implements http.ResponseWriter.
func (e *exchange) WriteHeader(status int) {
	if e.status == 0 {
		e.status = status
	}
	e.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (e *exchange) Write(data []byte) (int, error) {
	if e.status == 0 {
		e.status = http.StatusOK
	}
	n, err := e.ResponseWriter.Write(data)
	e.written += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find what the server's own writer can do.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// statusOrOK is the status, which net/http makes 200 where a handler names none.
func (e *exchange) statusOrOK() int {
	if e.status == 0 {
		return http.StatusOK
	}
	return e.status
}
