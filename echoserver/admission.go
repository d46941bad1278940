package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const overBudget = "the server holds as much as its memory allows: try again later"

func tooManyFields() string { return fmt.Sprintf("the header has more than %d fields", maxFields) }

// admit decides whether a request is handled. It takes what the request holds from the budget, and responds if that is not available.
func (h *handler) admit(e *exchange, r *http.Request) bool {
	c := connectionOf(r)
	switch {
	case c == nil: // a test without a connection
		return true
	case r.ProtoMajor == 1:
		c.headerEnds()
		if len(r.TransferEncoding) > 0 && (!c.header.isOf(r) || slices.ContainsFunc(c.header.names(), isContentLength)) {
			e.Header().Set("Connection", "close") // another server may have read the request differently (RFC 9112, 6.1)
		}
		return true
	}
	return h.admitStream(e, r, c)
}

// admitStream is admit for a request of HTTP/2, of which a connection has many.
func (h *handler) admitStream(e *exchange, r *http.Request, c *connection) bool {
	e.stream = c
	fields, size := measureHeader(r)
	if fields > maxFields {
		h.metrics.limited(limitHeader)
		refuse(e, http.StatusRequestHeaderFieldsTooLarge, tooManyFields())
		return false
	}
	e.headerSize = size
	cost := max(0, size-includedHeader) * headerFactor
	if c.inProgress.Add(1) > includedStreams {
		cost += requestCost
	}
	if cost == 0 || e.pool.take(cost) {
		e.held += cost
		return true
	}
	defer c.refusing.Add(-1)
	if c.refusing.Add(1) > includedStreams { // clients that do not read would make refusals expensive
		h.metrics.limited(limitMemory)
		panic(http.ErrAbortHandler)
	}
	clear(r.Header) // it is not needed while the response waits for the client
	h.exhausted(e)
	e.finish()
	return false
}

// exhausted responds to a request for which the budget does not suffice.
func (h *handler) exhausted(e *exchange) {
	h.metrics.limited(limitMemory)
	e.Header().Set("Retry-After", "1")
	refuse(e, http.StatusServiceUnavailable, overBudget)
}

// measureHeader returns the number of fields of a header, and its size in bytes.
func measureHeader(r *http.Request) (fields int, size int64) {
	size = int64(len(r.RequestURI))
	for name, values := range r.Header {
		fields += len(values)
		for _, value := range values {
			size += int64(len(name) + len(value))
		}
	}
	return fields, size
}

func isContentLength(name string) bool { return strings.EqualFold(name, "Content-Length") }
