package server

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

// admit checks the header of a request, reserves memory for it, and returns true. It rejects a request that exceeds a limit or the budget.
func (h *handler) admit(e *exchange.Exchange, r *http.Request) bool {
	c := transport.ConnectionOf(r)
	if c == nil { // only in tests that use no connection
		return true
	}
	size, longestField := transport.MeasureHeader(r)
	e.HeaderSize = size.Bytes
	if r.ProtoMajor == 1 {
		if len(r.TransferEncoding) > 0 { // another server could have used a Content-Length, and interpreted the request differently
			names, ok := c.FieldNames(r)
			isLength := func(name string) bool { return strings.EqualFold(name, "Content-Length") }
			if !ok || slices.ContainsFunc(names, isLength) {
				e.Header().Set("Connection", "close") // RFC 9112, 6.1
			}
		}
	} else if !h.admitStream(e, r, c, size.Bytes+int64(size.Fields)*transport.FieldCost) {
		return false
	}
	if len(h.trustedProxies) > 0 {
		logged := *h.describer
		logged.ShowIdentity = true // hides addresses only in responses
		e.Client = logged.Client(r).Address
	}
	return h.checkHeader(e, r, size, longestField)
}

// admitStream reserves memory for an HTTP/2 request, which shares its connection with other requests. size is the header size, in bytes.
func (h *handler) admitStream(e *exchange.Exchange, r *http.Request, c *transport.Connection, size int64) bool {
	e.Stream = c
	cost := max(0, size-transport.IncludedHeader) * transport.HeaderFactor
	if len(r.Trailer) > 0 { // the client announced a trailer, which may have any size that net/http decodes
		cost += int64(transport.DecoderFactor * h.maxHeaderBytes)
	}
	if !c.BeginStream() {
		cost += transport.RequestCost
	}
	if cost == 0 || e.AcquireForRequest(cost) {
		return true
	}
	defer c.EndRejection()
	if !c.BeginRejection() || keepsMuch(r) {
		h.metrics.Rejected(transport.LimitMemory)
		e.OverBudget, e.Status = true, statusNoResponse
		panic(http.ErrAbortHandler)
	}
	clear(r.Header) // the header is not needed while the response waits for the client
	h.exhausted(e)
	e.Finish()
	return false
}

// keepsMuch reports whether net/http uses a lot of memory for a request until the handler returns, even if the header is cleared. net/http
// copies some strings, maps do not shrink, and a trailer may still arrive.
func keepsMuch(r *http.Request) bool {
	return len(r.Method)+len(r.RequestURI)+len(r.Host) > transport.IncludedHeader || len(r.Header) > transport.MaxFields ||
		len(r.Trailer) > 0
}

// checkHeader rejects a request whose header or trailer exceeds a limit.
func (h *handler) checkHeader(e *exchange.Exchange, r *http.Request, size transport.HeaderSize, longestField string) bool {
	rejected := transport.CheckHeader(size, h.maxHeaderBytes)
	if rejected == nil {
		return true
	}
	h.metrics.Rejected(transport.LimitHeader)
	rejected.Log(h.log, r.RemoteAddr, longestField)
	if e.Stream != nil && keepsMuch(r) { // a response without a body need not wait for the client
		e.WriteHeader(rejected.Status)
		return false
	}
	clear(r.Header) // the header is not needed while the response waits for the client
	exchange.Reject(e, rejected.Status, rejected.Reason)
	e.Finish()
	return false
}

// exhausted responds to a request for which the budget has no memory left.
func (h *handler) exhausted(e *exchange.Exchange) {
	h.metrics.Rejected(transport.LimitMemory)
	e.Header().Set("Retry-After", "1")
	exchange.Reject(e, http.StatusServiceUnavailable, transport.OverBudget)
}

// unreadable responds to a request whose body could not be read. It closes an HTTP/1 connection, because net/http would interpret the rest
// of a body that is not valid as the next request if the handler uses the connection in both directions.
func (h *handler) unreadable(e *exchange.Exchange, err error) {
	if e.Stream == nil {
		e.Header().Set("Connection", "close")
	}
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, exchange.ErrOverBudget):
		h.exhausted(e)
	case isTooLarge:
		h.metrics.Rejected(limitBody)
		exchange.Reject(e, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		exchange.Reject(e, http.StatusRequestTimeout, "the body was not received in time")
	default:
		exchange.Reject(e, http.StatusBadRequest, "the body could not be read")
	}
}
