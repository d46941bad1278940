package server

import (
	"net/http"
	"slices"
	"strings"
)

const overBudget = "the server holds as much as its memory allows: try again later"

// admit decides whether a request is handled. It takes what the request holds from the budget, and responds if that is not available.
func (h *handler) admit(e *exchange, r *http.Request) bool {
	c := connectionOf(r)
	if c == nil { // a test without a connection
		return true
	}
	size, longestField := measureHeader(r)
	e.headerSize = size.bytes
	if r.ProtoMajor == 1 {
		c.inHeader.Store(false) // it was parsed
		if len(r.TransferEncoding) > 0 && (!c.header.isOf(r) || slices.ContainsFunc(c.header.names(), isContentLength)) {
			e.Header().Set("Connection", "close") // another server may have read the request differently (RFC 9112, 6.1)
		}
	} else if !h.admitStream(e, r, c, size.bytes+int64(size.fields)*fieldCost) {
		return false
	}
	return h.checkHeader(e, r, size, longestField)
}

// checkHeader rejects a request whose header or trailer is over a limit.
func (h *handler) checkHeader(e *exchange, r *http.Request, size headerSize, longestField string) bool {
	rejected := checkHeader(size, h.maxHeaderBytes)
	if rejected == nil {
		return true
	}
	h.metrics.limited(limitHeader)
	rejected.log(h.log, r.RemoteAddr, longestField)
	if e.stream != nil && keepsMuch(r) { // without a body, the response need not wait for the client
		e.WriteHeader(rejected.status)
		return false
	}
	clear(r.Header) // it is not needed while the response waits for the client
	refuse(e, rejected.status, rejected.reason)
	e.finish()
	return false
}

// admitStream is admit for a request of HTTP/2, which shares its connection with others. size is the size of its header in bytes.
func (h *handler) admitStream(e *exchange, r *http.Request, c *connection, size int64) bool {
	e.stream = c
	cost := max(0, size-includedHeader) * headerFactor
	if len(r.Trailer) > 0 { // it was announced, and may become as long as net/http decodes
		cost += int64(decoderFactor * h.maxHeaderBytes)
	}
	if c.inProgress.Add(1) > includedStreams {
		cost += requestCost
	}
	if cost == 0 || e.pool.take(cost) {
		e.held += cost
		return true
	}
	defer c.refusing.Add(-1)
	if c.refusing.Add(1) > includedStreams || keepsMuch(r) { // clients that do not read would make refusals expensive
		h.metrics.limited(limitMemory)
		e.overBudget = true
		panic(http.ErrAbortHandler)
	}
	clear(r.Header) // it is not needed while the response waits for the client
	h.exhausted(e)
	e.finish()
	return false
}

// keepsMuch reports whether net/http holds much for a request until its handler returns, even if the header is cleared: it has copies of some
// strings, a map does not become smaller, and the trailer is received.
func keepsMuch(r *http.Request) bool {
	return len(r.Method)+len(r.RequestURI)+len(r.Host) > includedHeader || len(r.Header) > maxFields || len(r.Trailer) > 0
}

// admitTrailer decides whether a request is handled whose body was read. What its trailer holds was taken with the header.
func (h *handler) admitTrailer(e *exchange, r *http.Request) bool {
	size, longestField := fieldsSize(r.Trailer)
	if size.bytes == 0 {
		return true
	}
	e.headerSize += size.bytes
	return h.checkHeader(e, r, size, longestField)
}

// exhausted responds to a request for which the budget does not suffice.
func (h *handler) exhausted(e *exchange) {
	h.metrics.limited(limitMemory)
	e.Header().Set("Retry-After", "1")
	refuse(e, http.StatusServiceUnavailable, overBudget)
}

func isContentLength(name string) bool { return strings.EqualFold(name, "Content-Length") }
