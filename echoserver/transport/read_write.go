package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
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
	n, err := c.Conn.Read(p)
	switch {
	case !c.inHeader.Load():
		if len(p) == 1 { // net/http detects whether the client disconnects while a handler runs
			c.header.ahead = append(c.header.ahead[:0], p[:n]...)
		}
	case n == 0:
		// net/http has stopped waiting for the rest of a header. It sends no response in this case.
		if len(c.header.data) > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			c.bounds.Reporter.report(rejection{remote: c.RemoteAddr().String(), protocol: "HTTP/1",
				reason: ReasonIncomplete, detail: "the end of the header did not arrive in time"})
			c.rejection = err // net/http reads again after its check for HTTP/2
		}
	default:
		if c.rejection = c.meter(p[:n]); c.rejection != nil {
			return 0, c.rejection
		}
	}
	return n, err
}

// meter accounts for a piece of an HTTP/1 header, or detects another protocol.
func (c *Connection) meter(piece []byte) error {
	c.header.add(piece)
	switch {
	case c.header.isPreface():
		if !c.acquire(&c.bounds.Budget.Connections, &c.cost, http2Cost+int64(DecoderFactor*c.bounds.MaxHeaderBytes)) {
			c.bounds.Reporter.Count(LimitMemory)
			return errRejected
		}
		c.isHTTP2 = true
		return nil
	case !c.header.isLater && isTLS(c.header.data): // net/http would wait for a line break
		return c.report(rejection{protocol: "TLS", status: http.StatusBadRequest, reason: ReasonTLS, detail: detailTLS})
	}
	size := c.header.size()
	if c.header.isLater { // a part of the data may belong to a body, so all values are lower bounds
		size = HeaderSize{Bytes: max(0, size.Bytes-readerSize)}
	}
	if rejected := CheckHeader(size, c.bounds.MaxHeaderBytes); rejected != nil {
		return c.rejectHeader(rejected)
	}
	more := max(0, int64(len(c.header.data))-IncludedHeader)*HeaderFactor - c.reservedHeader.Load()
	if more > 0 && !c.acquire(&c.bounds.Budget.Requests, &c.reservedHeader, more) {
		c.bounds.Reporter.Count(LimitMemory)
		return c.respond(http.StatusServiceUnavailable, OverBudget)
	}
	return nil
}

// rejectHeader responds to a request whose header exceeds a limit.
func (c *Connection) rejectHeader(rejected *HeaderRejection) error {
	rejected.Log(c.bounds.Log, c.RemoteAddr().String(), c.header.longestField())
	c.bounds.Reporter.Count(LimitHeader)
	return c.respond(rejected.Status, rejected.Reason)
}

// Write implements net.Conn. If no handler has received the HTTP/1 request, the data is net/http's response to a rejected request. Write
// replaces it with a response that the client can read before the connection is closed.
func (c *Connection) Write(p []byte) (int, error) {
	isUnread := !c.header.isLater && len(c.header.data) == 0 // a TLS handshake may have failed
	if c.isHTTP2 || c.handled.Load() || isUnread {
		return c.Conn.Write(p)
	}
	if c.rejection == nil { // this is the beginning of the response
		c.rejection = c.explain(p)
	}
	return len(p), nil
}

// explain responds to a request that net/http rejected. If the header exceeds a limit, that is the reason.
func (c *Connection) explain(response []byte) error {
	if rejected := CheckHeader(c.header.size(), c.bounds.MaxHeaderBytes); rejected != nil {
		return c.rejectHeader(rejected)
	}
	line, _, _ := strings.Cut(string(response), "\r\n") // the status lines of net/http contain no data from the request
	_, detail, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(detail, " ")
	status, _ := strconv.Atoi(code) // net/http always writes a number
	what := rejection{protocol: "HTTP/1", status: status, reason: statusPrefix + code, detail: detail}
	if proxy := proxyProtocol(c.header.data); proxy != "" && !c.header.isLater {
		what.protocol, what.reason, what.detail = proxy, ReasonProxyProtocol, detailProxy
	}
	return c.report(what)
}

// report reports a request that does not reach a handler, and sends a response.
func (c *Connection) report(what rejection) error {
	what.remote = c.RemoteAddr().String()
	c.bounds.Reporter.report(what)
	return c.respond(what.status, what.detail)
}

// respond responds to a request that does not reach a handler, and returns errRejected.
func (c *Connection) respond(status int, why string) error {
	text := "echo-server: " + why + "\n"
	retry := ""
	if status == http.StatusServiceUnavailable {
		retry = "Retry-After: 1\r\n"
	}
	err := c.SetDeadline(time.Now().Add(lingerTimeout))
	_, written := fmt.Fprintf(c.Conn,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"+
			"%sConnection: close\r\n\r\n%s", status, http.StatusText(status), PlainText, len(text), retry, text)
	if errors.Join(err, written) == nil {
		linger(c, c.Conn)
	}
	return errRejected
}

// linger closes the sending side of a connection, and discards all data from the client until the client has received the response.
func linger(sending interface{ CloseWrite() error }, receiving net.Conn) {
	if errors.Join(sending.CloseWrite(), receiving.SetReadDeadline(time.Now().Add(lingerTimeout))) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(receiving, MostHeaderBytes)) // until the client closes the connection
	}
}
