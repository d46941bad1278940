// Package exchange handles one request and its response: their share of the memory budget, the body, delay, deadlines, proof, and log line.
package exchange

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/transport"
)

// maxRequestID is the maximum length, in bytes, of an X-Request-Id that the server uses.
const maxRequestID = 128

// Exchange is a response writer that also holds the data for the log and the metrics.
type Exchange struct {
	http.ResponseWriter
	ID         string
	Began      time.Time
	Pool       *transport.Pool       // the budget for requests; nil means no limit
	reserved   int64                 // bytes that were acquired from Pool
	HeaderSize int64                 // in bytes, including the request's trailer
	Stream     *transport.Connection // the connection of an HTTP/2 request in progress
	OverBudget bool                  // aborted without a response or log line, because the budget does not cover their memory
	Status     int                   // 0 before the response
	written    int64
	// Applied lists the controls that change the response, and Count counts each. Both are nil on the admin port.
	Applied    Applied
	Count      func(control, value string)
	Client     string   // the client's address for the log; empty if it is not known, or if no proxy is trusted
	GRPCStatus string   // the name of a gRPC call's status; empty for other requests
	witness    *witness // nil unless the response will contain a proof
}

// New returns an exchange for a request.
func New(w http.ResponseWriter, r *http.Request) *Exchange {
	return &Exchange{ResponseWriter: w, ID: cmp.Or(SentRequestID(r.Header), NewRequestID()), Began: time.Now()}
}

// Acquire acquires bytes for large or long-lived data if the budget allows it. The exchange holds them until it ends or releases them.
func (e *Exchange) Acquire(bytes int64) bool {
	return e.hold(bytes, e.Pool == nil || e.Pool.AcquireLarge(bytes))
}

// AcquireForRequest acquires bytes for the request itself, and reports whether the budget allows it. It can use what Acquire leaves free.
func (e *Exchange) AcquireForRequest(bytes int64) bool { return e.hold(bytes, e.Pool.Acquire(bytes)) }

func (e *Exchange) hold(bytes int64, ok bool) bool {
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

// Finish begins a response to which nothing was written, and waits until the client has received the response to an HTTP/2 request.
// net/http would wait only after the handler returns, when the budget no longer covers the response.
func (e *Exchange) Finish() {
	e.begin(http.StatusOK)
	trimValues(e.Header()) // the handler may have set trailers
	if e.Stream != nil {
		_ = e.FlushError() // the client may have disconnected
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

// NewRequestID returns a new request ID, which does not have to be secret.
func NewRequestID() string {
	return strconv.FormatUint(rand.Uint64()|1<<63, 16) // always 16 digits
}

// WriteHeader implements http.ResponseWriter.
func (e *Exchange) WriteHeader(status int) {
	e.begin(status)
	e.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (e *Exchange) Write(data []byte) (int, error) {
	e.begin(http.StatusOK)
	n, err := e.ResponseWriter.Write(data)
	e.written += int64(n)
	return n, err
}

// WriteString implements io.StringWriter.
func (e *Exchange) WriteString(text string) (int, error) {
	e.begin(http.StatusOK)
	n, err := io.WriteString(e.ResponseWriter, text)
	e.written += int64(n)
	return n, err
}

// FlushError flushes the response, for http.ResponseController.
func (e *Exchange) FlushError() error {
	e.begin(http.StatusOK)
	return http.NewResponseController(e.ResponseWriter).Flush()
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (e *Exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// StatusOrOK returns the status, which is 200 if the handler did not set it.
func (e *Exchange) StatusOrOK() int { return cmp.Or(e.Status, http.StatusOK) }

const (
	// ResponseTimeout is how long a client may take to read a response, measured from the end of the request's header. It is longer than
	// the time limit for the request, so that a client whose request times out still gets a response. Handlers that take longer extend it.
	ResponseTimeout = 35 * time.Second
	// StallTimeout is the maximum time that either direction of a stream can go without progress.
	StallTimeout = 30 * time.Second
	// Sandbox prevents browsers from executing or loading anything in a response.
	Sandbox = "default-src 'none'; sandbox"
)

// AllowsBody reports whether a final response with a status can have a body (RFC 9110, 15.3.5, 15.3.6, and 15.4.5).
func AllowsBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusResetContent && status != http.StatusNotModified
}

// trimValues removes the spaces around field values. HTTP/2 clients reject a response whose values begin or end with a space (RFC 9113,
// 8.2.1), and net/http removes the spaces only in HTTP/1.
func trimValues(header http.Header) {
	for _, values := range header {
		for i, value := range values {
			if trimmed := strings.Trim(value, " \t"); len(trimmed) < len(value) {
				values[i] = trimmed
			}
		}
	}
}

// SetSecurityHeaders sets the security headers that every response has. header.Set would be slower, because it canonicalizes names.
func SetSecurityHeaders(header http.Header) {
	values := []string{"no-store", "nosniff", Sandbox}
	header["Cache-Control"] = values[0:1:1]
	header["X-Content-Type-Options"] = values[1:2:2]
	header["Content-Security-Policy"] = values[2:3:3]
}

// Reject responds with one line of text that contains the reason.
func Reject(e *Exchange, status int, why string) {
	e.Reply(status, transport.PlainText, "echo-server: "+why+"\n")
}

// Gets reports whether the method is GET or HEAD, and rejects a request with any other method.
func Gets(e *Exchange, r *http.Request, what string) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	e.Header().Set("Allow", "GET, HEAD")
	Reject(e, http.StatusMethodNotAllowed, what+" requires GET")
	return false
}

// SetDeadlines sets the deadlines of an exchange. The zero time means no deadline. If setting a deadline fails, so do reading and writing.
func SetDeadlines(w http.ResponseWriter, deadline time.Time) error {
	controller := http.NewResponseController(w)
	return errors.Join(controller.SetReadDeadline(deadline), controller.SetWriteDeadline(deadline))
}

// Applied lists the controls that changed a response, so that users can distinguish the response from a gateway's.
type Applied []AppliedControl

// AppliedControl is a control that changed a response.
type AppliedControl struct {
	Name     string
	Value    any
	IsHidden bool // only in X-Echo-Applied
}

// Each calls yield with the name and value of each control. It calls yield once for each value of a list.
func (a Applied) Each(yield func(name, value string)) {
	for _, control := range a {
		if list, ok := control.Value.([]string); ok {
			for _, value := range list {
				yield(control.Name, value)
			}
			continue
		}
		yield(control.Name, fmt.Sprint(control.Value))
	}
}

// String returns the value of X-Echo-Applied, such as "status=503, delay=2s".
func (a Applied) String() string {
	var parts []string
	a.Each(func(name, value string) { parts = append(parts, name+"="+value) })
	return strings.Join(parts, ", ")
}

// MarshalJSON implements json.Marshaler. The object preserves the order of the controls.
func (a Applied) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // the caller escapes the whole document
	b.WriteByte('{')
	for _, control := range a {
		if control.IsHidden {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name := strings.ReplaceAll(http.CanonicalHeaderKey(control.Name), "-", "")
		fmt.Fprintf(&b, "%q:", strings.ToLower(name[:1])+name[1:]) // such as setHeader for set-header
		if err := encoder.Encode(control.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

const (
	// MaxWaiting is the maximum number of responses that can be delayed at the same time.
	MaxWaiting = 1000
	// WaitingCost is the memory, in bytes, that a delayed response holds in addition to the memory for its request.
	WaitingCost = 1 << 10
	// LimitDelays is the reason that metrics report for ErrTooManyDelays.
	LimitDelays = "delays"
)

// ErrTooManyDelays reports that MaxWaiting responses are already delayed.
var ErrTooManyDelays = fmt.Errorf("%d responses are already delayed", MaxWaiting)

// Delays delays responses.
type Delays struct {
	Waiting  atomic.Int64    // the number of delayed responses
	Ending   <-chan struct{} // closed when the server stops
	Rejected func(reason string)
}

// Await waits until a delay has elapsed or the server stops. If the context is done first, Await returns the context's cause. It can also
// return ErrTooManyDelays or ErrOverBudget.
func (d *Delays) Await(ctx context.Context, e *Exchange, delay time.Duration) error {
	if delay == 0 {
		return nil
	}
	defer d.Waiting.Add(-1)
	if d.Waiting.Add(1) > MaxWaiting {
		d.Rejected(LimitDelays)
		return ErrTooManyDelays
	}
	if !e.Acquire(WaitingCost) {
		return ErrOverBudget
	}
	_ = SetDeadlines(e, time.Now().Add(delay+ResponseTimeout))
	select {
	case <-time.After(delay):
	case <-d.Ending: // an early response is better than an aborted one
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
