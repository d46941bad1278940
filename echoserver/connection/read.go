package connection

import (
	"errors"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/rejections"
)

// Read implements net.Conn.
func (c *Connection) Read(p []byte) (int, error) {
	if c.rejection != nil { // net/http reads again after its check for HTTP/2
		return 0, c.rejection
	}
	if c.isHTTP2 {
		// If a client resets requests, net/http decodes up to five headers for each concurrent request that a connection allows. Yielding
		// lets the handlers of these requests finish or acquire memory first.
		runtime.Gosched()
		return c.Conn.Read(p)
	}
	inHeader := c.inHeader.Load()
	if inHeader {
		c.header.locate(len(p))
	}
	n, err := c.receive(p)
	for inHeader && n > 0 {
		skipped := c.header.skipEmptyLines(p[:n])
		if n = copy(p, p[skipped:n]); n > 0 || err != nil {
			break
		}
		n, err = c.receive(p)
	}
	switch {
	case n == 0:
		c.rejectLate(err)
	case inHeader:
		c.rejection = c.meter(p[:n])
	case len(p) == 1: // net/http reads one byte while a handler runs
		n = c.header.lookAhead(p[0])
	}
	if c.rejection != nil {
		return 0, c.rejection
	}
	return n, err
}

// SetReadDeadline implements net.Conn. net/http sets one deadline while it waits for a header, and another while it parses the header.
func (c *Connection) SetReadDeadline(deadline time.Time) error {
	if c.inHeader.Load() {
		c.header.deadlines++
	}
	return c.Conn.SetReadDeadline(deadline)
}

// receive returns the byte that was held back, or reads from the connection.
func (c *Connection) receive(p []byte) (int, error) {
	if c.header.isHeld {
		c.header.isHeld = false
		p[0] = c.header.held
		return 1, nil
	}
	return c.Conn.Read(p)
}

// meter accounts for a piece of an HTTP/1 header, or detects another protocol.
func (c *Connection) meter(piece []byte) error {
	c.header.add(piece)
	c.inHeader.Store(!c.header.ended || c.header.isPartial) // only net/http knows the end of a partial header
	switch {
	case c.header.isPreface():
		return c.upgrade()
	case !c.header.begun && rejections.IsTLS(c.header.data): // net/http would wait for a line break
		return c.report(rejections.Rejection{Protocol: "TLS", Status: http.StatusBadRequest, Reason: rejections.ReasonTLS,
			Detail: rejections.DetailTLS})
	}
	size := c.header.size()
	if rejected := CheckHeader(size, c.bounds.MaxHeaderBytes); rejected != nil {
		rejected.Log(c.bounds.Log, c.RemoteAddr().String(), c.header.longestField())
		return c.reject(rejected.Status, LimitHeader, rejected.Reason)
	}
	more := max(0, size.Bytes-IncludedHeader)*HeaderFactor - c.reservedHeader.Load()
	if more > 0 && !c.acquire(&c.bounds.Budget.Requests, &c.reservedHeader, more) {
		return c.reject(http.StatusServiceUnavailable, LimitMemory, OverBudget)
	}
	return nil
}

// upgrade accounts for an HTTP/2 connection.
func (c *Connection) upgrade() error {
	if !c.acquire(&c.bounds.Budget.Connections, &c.cost, http2Cost+int64(DecoderFactor*c.bounds.MaxHeaderBytes)) {
		c.bounds.Reporter.Count(LimitMemory)
		return errRejected
	}
	c.frames = rejections.NewFrames(c.bounds.Reporter, c.RemoteAddr().String())
	c.isHTTP2 = true
	return nil
}

// rejectLate reports a header that was still incomplete when net/http stopped waiting for it. net/http sends no response in this case.
func (c *Connection) rejectLate(err error) {
	if c.inHeader.Load() && len(c.header.data) > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		c.bounds.Reporter.Report(rejections.Rejection{Remote: c.RemoteAddr().String(), Protocol: "HTTP/1",
			Reason: rejections.ReasonIncomplete, Detail: "the end of the header did not arrive in time"})
		c.rejection = err // net/http reads again after its check for HTTP/2
	}
}
