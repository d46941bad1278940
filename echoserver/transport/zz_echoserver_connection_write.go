package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Write implements net.Conn. If no handler has received the HTTP/1 request, the data is net/http's response to a rejected request. Write
// replaces it with a response that the client can read before the connection is closed.
func (c *Connection) Write(p []byte) (int, error) {
	if c.isHTTP2 || c.handled.Load() || !c.header.isRead() { // before anything is read, a TLS handshake may have failed
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
	what := RejectionOfResponse(response)
	if version := ProxyVersion(c.header.data); version > 0 && !c.header.isLater {
		what.Protocol = "PROXY v" + strconv.Itoa(version)
		what.Reason, what.Detail = ReasonProxyProtocol, DetailProxy
	}
	return c.report(what)
}

// report reports a request that does not reach a handler, and sends a response.
func (c *Connection) report(what Rejection) error {
	what.Remote = c.RemoteAddr().String()
	c.bounds.Reporter.Report(what)
	return c.respond(what.Status, what.Detail)
}

// reject responds to a request that exceeds a limit.
func (c *Connection) reject(status int, reason, why string) error {
	c.bounds.Reporter.Count(reason)
	return c.respond(status, why)
}

// respond responds to a request that does not reach a handler, and returns errRejected.
func (c *Connection) respond(status int, why string) error {
	text := "echo-server: " + why + "\n"
	retry := ""
	if status == http.StatusServiceUnavailable {
		retry = "Retry-After: 1\r\n"
	}
	err := c.SetDeadline(time.Now().Add(LingerTimeout))
	_, written := fmt.Fprintf(c.Conn,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"+
			"%sConnection: close\r\n\r\n%s", status, http.StatusText(status), PlainText, len(text), retry, text)
	if errors.Join(err, written) == nil {
		Linger(c, c.Conn)
	}
	return errRejected
}

// Linger closes the sending side of a connection, and waits until the client has received the response. Meanwhile, it discards all data
// that the client sends.
func Linger(sending interface{ CloseWrite() error }, receiving net.Conn) {
	if errors.Join(sending.CloseWrite(), receiving.SetReadDeadline(time.Now().Add(LingerTimeout))) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(receiving, MostHeaderBytes)) // until the client closes the connection
	}
}
