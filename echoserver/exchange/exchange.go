package exchange

import (
	"cmp"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

// maxRequestID is the maximum length, in bytes, of an X-Request-Id that the server uses.
const maxRequestID = 128

// Exchange is a response writer that also holds the data for the log and the metrics.
type Exchange struct {
	http.ResponseWriter
	ID         string
	Began      time.Time
	Pool       *connection.Pool       // the budget for requests; nil means no limit
	reserved   int64                  // bytes that were acquired from Pool
	HeaderSize int64                  // in bytes, including the request's trailer
	Stream     *connection.Connection // the connection of an HTTP/2 request in progress
	OverBudget bool                   // aborted without a response or log line, because the budget does not cover their memory
	Status     int                    // 0 before the response
	written    int64
	// GRPCStatus is the name of a gRPC call's status. It is empty for other requests.
	GRPCStatus string
}

// New returns an exchange for a request.
func New(w http.ResponseWriter, r *http.Request) *Exchange {
	return &Exchange{ResponseWriter: w, ID: requestID(r.Header), Began: time.Now()}
}

// Acquire acquires bytes for large or long-lived data, and reports whether the budget allows it. The exchange holds the bytes until it ends
// or releases them.
func (e *Exchange) Acquire(bytes int64) bool {
	ok := e.Pool == nil || e.Pool.AcquireLarge(bytes)
	if ok {
		e.reserved += bytes
	}
	return ok
}

// AcquireForRequest acquires bytes for the request itself, and reports whether the budget allows it. It can use the part of the budget that
// Acquire leaves free.
func (e *Exchange) AcquireForRequest(bytes int64) bool {
	ok := e.Pool.Acquire(bytes)
	if ok {
		e.reserved += bytes
	}
	return ok
}

// DescribedSize returns the size, in bytes, of the request data in a response that describes the request.
func (e *Exchange) DescribedSize(b *Body) int64 {
	if b == nil {
		return e.HeaderSize
	}
	return e.HeaderSize + int64(len(b.Data))
}

// Release releases some of the acquired bytes.
func (e *Exchange) Release(bytes int64) {
	bytes = min(max(0, bytes), e.reserved)
	e.reserved -= bytes
	if e.Pool != nil {
		e.Pool.Release(bytes)
	}
}

// Finish waits until the client has received the response to an HTTP/2 request. net/http would wait only after the handler returns, when
// the budget no longer covers the response.
func (e *Exchange) Finish() {
	if e.Stream != nil {
		_ = http.NewResponseController(e.ResponseWriter).Flush() // the client may have disconnected
	}
}

// End releases all acquired bytes.
func (e *Exchange) End() {
	e.Release(e.reserved)
	if e.Stream != nil {
		e.Stream.EndStream()
	}
}

// SentRequestID returns the request's X-Request-Id, or "" if it is missing or too long.
func SentRequestID(headers http.Header) string {
	if id := headers.Get("X-Request-Id"); len(id) <= maxRequestID {
		return id
	}
	return ""
}

// requestID returns the request's X-Request-Id, or a new ID.
func requestID(headers http.Header) string {
	if id := SentRequestID(headers); id != "" {
		return id
	}
	return NewRequestID()
}

// NewRequestID returns a new request ID, which does not have to be secret.
func NewRequestID() string {
	return strconv.FormatUint(rand.Uint64()|1<<63, 16) // always 16 digits
}

// WriteHeader implements http.ResponseWriter.
func (e *Exchange) WriteHeader(status int) {
	e.Status = cmp.Or(e.Status, status)
	e.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (e *Exchange) Write(data []byte) (int, error) {
	e.Status = e.StatusOrOK()
	n, err := e.ResponseWriter.Write(data)
	e.written += int64(n)
	return n, err
}

// WriteString implements io.StringWriter.
func (e *Exchange) WriteString(text string) (int, error) {
	e.Status = e.StatusOrOK()
	n, err := io.WriteString(e.ResponseWriter, text)
	e.written += int64(n)
	return n, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (e *Exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// StatusOrOK returns the status, which is 200 if the handler did not set it.
func (e *Exchange) StatusOrOK() int { return cmp.Or(e.Status, http.StatusOK) }
