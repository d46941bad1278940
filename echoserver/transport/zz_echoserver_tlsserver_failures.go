package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// reportFailure reports a failed handshake. It responds to the client if the client sent a plain HTTP request instead.
func (c *TLSConnection) reportFailure(err error) {
	what := Rejection{Remote: c.RemoteAddr().String(), Protocol: "TLS", Reason: ReasonHandshake, Detail: err.Error()}
	record, isRecord := errors.AsType[tls.RecordHeaderError](err)
	version := 0
	if isRecord {
		version = ProxyVersion(record.RecordHeader[:])
	}
	switch {
	case version > 0:
		what.Protocol = "PROXY v" + strconv.Itoa(version)
		what.Reason, what.Detail = ReasonProxyProtocol, DetailProxy
	case isRecord && isHTTP(record.RecordHeader):
		what.Protocol, what.Status = "HTTP", http.StatusBadRequest
		what.Reason, what.Detail = ReasonNoTLS, DetailNoTLS
	case c.transport.received == 0 || hasLeft(err):
		return
	case isTimeout(err):
		what.Detail = "the handshake did not complete in time"
	}
	c.reporter.Report(what)
	if what.Reason == ReasonNoTLS {
		c.rejectPlain()
	}
}

// hasLeft reports whether the client closed the connection (as health checks do) or the server closed it to make room for another
// handshake.
func hasLeft(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// isHTTP reports whether a connection begins with a plain HTTP/1 or HTTP/2 request.
func isHTTP(beginning [5]byte) bool {
	return slices.ContainsFunc([]string{"GET ", "HEAD ", "POST ", "PUT ", "OPTIO", "DELET", "PATCH", "CONNE", "TRACE", "PRI *"},
		func(method string) bool { return string(beginning[:len(method)]) == method })
}

// rejectPlain responds to a plain HTTP request on the TLS port.
func (c *TLSConnection) rejectPlain() {
	under := c.transport.Conn
	deadline := under.SetWriteDeadline(time.Now().Add(closeTimeout))
	_, written := io.WriteString(under, "HTTP/1.1 400 Bad Request\r\nContent-Type: "+PlainText+"\r\nConnection: close\r\n\r\n"+
		"echo-server: "+DetailNoTLS+"\n")
	if half, ok := under.(interface{ CloseWrite() error }); ok && errors.Join(deadline, written) == nil {
		Linger(half, under)
	}
}
