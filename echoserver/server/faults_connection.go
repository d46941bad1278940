package server

import (
	"io"
	"net/http"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

// resetConnection resets the TCP connection of an HTTP/1.1 request, or only the stream of an HTTP/2 request.
func resetConnection(r *http.Request) {
	if c := transport.ConnectionOf(r); c != nil && r.ProtoMajor == 1 {
		_ = c.SendReset() // fails only if the client has disconnected
	}
	panic(http.ErrAbortHandler) // makes net/http close the connection or reset the stream
}

// truncatedWriter is a response writer that drops everything after a given number of bytes.
type truncatedWriter struct {
	*exchange.Exchange
	left int // how many more bytes it writes
}

// Write implements http.ResponseWriter.
func (t *truncatedWriter) Write(data []byte) (int, error) {
	n, err := t.Exchange.Write(data[:min(len(data), t.left)])
	t.left -= n
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return n, err
}

// WriteString implements io.StringWriter.
func (t *truncatedWriter) WriteString(text string) (int, error) { return t.Write([]byte(text)) }

// truncate writes the headers and the first half of the body, and then aborts the response.
func (c *content) truncate(e *exchange.Exchange, r *http.Request, status int) {
	c.write(&truncatedWriter{Exchange: e, left: c.length / 2}, r, status)
	_ = http.NewResponseController(e).Flush() // the client may have disconnected
	panic(http.ErrAbortHandler)               // makes net/http close the connection or reset the stream
}
