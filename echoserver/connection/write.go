package connection

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/rejections"
)

// Write implements net.Conn. Write detects responses that no handler wrote.
func (c *Connection) Write(p []byte) (int, error) {
	switch {
	case c.isHTTP2:
		c.frames.Observe(p)
	case !c.handled.Load() && c.header.isRead():
		return c.replace(p)
	}
	return c.Conn.Write(p)
}

// replace replaces net/http's response to a rejected request with a response that explains the rejection.
func (c *Connection) replace(response []byte) (int, error) {
	if c.rejection == nil { // this is the beginning of the response
		line, _, _ := bytes.Cut(response, []byte("\r\n"))
		header := rejections.Header{Data: c.header.data, EmptyLines: c.header.emptyLines, Known: !c.header.isPartial, Ended: c.header.ended}
		c.rejection = c.report(header.Explain(string(line)))
	}
	return len(response), nil
}

// report reports a request that does not reach a handler, and sends a response.
func (c *Connection) report(what rejections.Rejection) error {
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
