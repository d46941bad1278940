package main

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// maxRequestID is the maximum length of an X-Request-Id that is used, in bytes.
const maxRequestID = 128

// exchange is the writer of a response, with the data for log and metrics.
type exchange struct {
	http.ResponseWriter
	id      string
	began   time.Time
	status  int // 0 before the response
	written int64
}

func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{ResponseWriter: w, id: requestID(r.Header), began: time.Now()}
}

// requestID returns the X-Request-Id of the request, or a new ID. It does not have to be secret.
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

// Unwrap returns the underlying writer, for http.ResponseController.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// statusOrOK returns the status, which is 200 if the handler did not set it.
func (e *exchange) statusOrOK() int {
	if e.status == 0 {
		return http.StatusOK
	}
	return e.status
}
