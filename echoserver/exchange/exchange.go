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

// maxRequestID is the maximum length of an X-Request-Id that is used, in bytes.
const maxRequestID = 128

// Exchange is the writer of a response, with the data for log and metrics.
type Exchange struct {
	http.ResponseWriter
	ID         string
	Began      time.Time
	Pool       *connection.Pool       // of the bytes that requests hold; nil does not bound them
	reserved   int64                  // bytes that were taken from it
	HeaderSize int64                  // of the request with its trailer, in bytes
	Stream     *connection.Connection // of a request of HTTP/2 that is in progress
	OverBudget bool                   // aborted without a response and a log line: nothing accounts for what it holds
	Status     int                    // 0 before the response
	written    int64
	// GRPCStatus is the name of the status of a gRPC call; empty for other requests.
	GRPCStatus string
}

// New returns the exchange of a request.
func New(w http.ResponseWriter, r *http.Request) *Exchange {
	return &Exchange{ResponseWriter: w, ID: requestID(r.Header), Began: time.Now()}
}

// Acquire takes bytes from the budget until the exchange ends, for what is large or lasts long.
func (e *Exchange) Acquire(bytes int64) bool {
	ok := e.Pool == nil || e.Pool.AcquireLarge(bytes)
	if ok {
		e.reserved += bytes
	}
	return ok
}

// AcquireForRequest takes bytes for the request itself, for which large ones leave a part of the budget.
func (e *Exchange) AcquireForRequest(bytes int64) bool {
	ok := e.Pool.Acquire(bytes)
	if ok {
		e.reserved += bytes
	}
	return ok
}

// DescribedSize returns the size of what a response that describes the request contains of it, in bytes.
func (e *Exchange) DescribedSize(b *Body) int64 {
	if b == nil {
		return e.HeaderSize
	}
	return e.HeaderSize + int64(len(b.Data))
}

// Release gives back a part of what was taken.
func (e *Exchange) Release(bytes int64) {
	bytes = min(max(0, bytes), e.reserved)
	e.reserved -= bytes
	if e.Pool != nil {
		e.Pool.Release(bytes)
	}
}

// Finish waits until the client has taken the response to a request of HTTP/2. net/http would wait after the handler, when nothing accounts
// for what the response holds any more.
func (e *Exchange) Finish() {
	if e.Stream != nil {
		_ = http.NewResponseController(e.ResponseWriter).Flush() // the client may have disconnected
	}
}

// End gives all bytes back.
func (e *Exchange) End() {
	e.Release(e.reserved)
	if e.Stream != nil {
		e.Stream.EndStream()
	}
}

// SentRequestID returns the X-Request-Id of the request, empty if there is none or it is too long.
func SentRequestID(headers http.Header) string {
	if id := headers.Get("X-Request-Id"); len(id) <= maxRequestID {
		return id
	}
	return ""
}

// requestID returns the X-Request-Id of the request, or a new ID. It does not have to be secret.
func requestID(headers http.Header) string {
	if id := SentRequestID(headers); id != "" {
		return id
	}
	return NewRequestID()
}

// NewRequestID returns an ID of a request.
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
