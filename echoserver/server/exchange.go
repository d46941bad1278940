package server

import (
	"cmp"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

// maxRequestID is the maximum length of an X-Request-Id that is used, in bytes.
const maxRequestID = 128

// exchange is the writer of a response, with the data for log and metrics.
type exchange struct {
	http.ResponseWriter
	id         string
	began      time.Time
	pool       *connection.Pool       // of the bytes that requests hold; nil does not bound them
	held       int64                  // bytes that were taken from it
	headerSize int64                  // of the request with its trailer, in bytes
	stream     *connection.Connection // of a request of HTTP/2 that is in progress
	overBudget bool                   // aborted without a response and a log line: nothing accounts for what it holds
	status     int                    // 0 before the response
	written    int64
	// grpcStatus is the name of the status of a gRPC call; empty for other requests.
	grpcStatus string
}

func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{ResponseWriter: w, id: requestID(r.Header), began: time.Now()}
}

// take takes bytes from the budget until the exchange ends, for what is large or lasts long.
func (e *exchange) take(bytes int64) bool {
	ok := e.pool == nil || e.pool.AcquireLarge(bytes)
	if ok {
		e.held += bytes
	}
	return ok
}

// worstResponse returns how much memory a response can take at most, in bytes, besides what the cost of the request includes. If it describes
// the request, JSON needs up to six bytes for one; text of a given size is copied from a buffer.
func (e *exchange) worstResponse(b *body, size *int) int64 {
	if size != nil {
		return int64(min(*size, copyBuffer))
	}
	const escape = 6
	if worst := escape * e.describedSize(b); worst > 2*connection.IncludedResponse {
		return worst
	}
	return 0
}

// describedSize returns the size of what a response that describes the request contains of it, in bytes.
func (e *exchange) describedSize(b *body) int64 {
	if b == nil {
		return e.headerSize
	}
	return e.headerSize + int64(len(b.Data))
}

// giveBack gives back a part of what was taken.
func (e *exchange) giveBack(bytes int64) {
	bytes = min(max(0, bytes), e.held)
	e.held -= bytes
	if e.pool != nil {
		e.pool.Release(bytes)
	}
}

// finish waits until the client has taken the response to a request of HTTP/2. net/http would wait after the handler, when nothing accounts
// for what the response holds any more.
func (e *exchange) finish() {
	if e.stream != nil {
		_ = http.NewResponseController(e.ResponseWriter).Flush() // the client may have disconnected
	}
}

// release gives all bytes back.
func (e *exchange) release() {
	e.giveBack(e.held)
	if e.stream != nil {
		e.stream.EndStream()
	}
}

// requestID returns the X-Request-Id of the request, or a new ID. It does not have to be secret.
func requestID(headers http.Header) string {
	if id := headers.Get("X-Request-Id"); id != "" && len(id) <= maxRequestID {
		return id
	}
	return newRequestID()
}

func newRequestID() string {
	return strconv.FormatUint(rand.Uint64()|1<<63, 16) // always 16 digits
}

// WriteHeader implements http.ResponseWriter.
func (e *exchange) WriteHeader(status int) {
	e.status = cmp.Or(e.status, status)
	e.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (e *exchange) Write(data []byte) (int, error) {
	e.status = e.statusOrOK()
	n, err := e.ResponseWriter.Write(data)
	e.written += int64(n)
	return n, err
}

// WriteString implements io.StringWriter.
func (e *exchange) WriteString(text string) (int, error) {
	e.status = e.statusOrOK()
	n, err := io.WriteString(e.ResponseWriter, text)
	e.written += int64(n)
	return n, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// statusOrOK returns the status, which is 200 if the handler did not set it.
func (e *exchange) statusOrOK() int { return cmp.Or(e.status, http.StatusOK) }
