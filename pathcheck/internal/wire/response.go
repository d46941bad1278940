package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Response is a response with data about its transmission.
type Response struct {
	Status   int
	Header   http.Header
	Trailers http.Header
	Interim  []int  // the status codes of the interim responses
	Body     []byte // the beginning of the body
	Size     int64  // size of the received part of the body

	Proven      bool // the response comes from the Echo
	Cached      bool // the response is to an earlier request
	Attempt     int  // how many requests with this nonce the Echo has received
	Description *Description

	Local  netip.AddrPort
	Remote string // host and port
	TLS    *tls.ConnectionState
	Took   time.Duration // the time until the header arrived
	Closed bool          // the server closes the connection after the response
}

func (a *Response) readBody(response *http.Response, limit int64) {
	defer func() { _ = response.Body.Close() }()
	a.Body, _ = io.ReadAll(io.LimitReader(response.Body, min(limit, MaxBody)))
	rest, _ := io.Copy(io.Discard, io.LimitReader(response.Body, limit-int64(len(a.Body))+1))
	a.Size = int64(len(a.Body)) + rest
	a.Trailers = response.Trailer
	a.Description = ParseDescription(a.Body) // the Echo's default Content-Type may be any text
}

func addressOf(address net.Addr) netip.AddrPort {
	parsed, _ := netip.ParseAddrPort(address.String())
	return netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port())
}

// RefusalOf returns a name for the reason why a request got no response.
func RefusalOf(err error) string {
	var timedOut net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no connection"
	case errors.Is(err, ErrHandshake):
		return "handshake"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timedOut) && timedOut.Timeout():
		return "time out"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, errStreamReset):
		return "reset"
	}
	return "closed"
}

// RejectedByEcho reports whether the Echo itself rejects a request because of its size. Over HTTP/1, the rejection contains no proof,
// because the Echo does not read the header that requests a proof.
func (a *Response) RejectedByEcho() bool {
	switch a.Status {
	case http.StatusRequestHeaderFieldsTooLarge, http.StatusRequestURITooLong, http.StatusRequestEntityTooLarge:
		return a.Proven && !a.Cached || bytes.HasPrefix(a.Body, []byte("echo-server: the "))
	}
	return false
}

// Refusal returns a name for a response that does not come from the Echo.
func (a *Response) Refusal() string { return strconv.Itoa(a.Status) }
