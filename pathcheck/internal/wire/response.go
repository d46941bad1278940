package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
)

// Stream is a connection on which a request was sent.
type Stream struct {
	net.Conn
	limited *io.LimitedReader
	Reader  *bufio.Reader
	method  string
	Nonce   string
	Began   time.Time
	end     func()

	deadline           time.Time
	asksForCertificate bool
}

// Close implements net.Conn.
func (s *Stream) Close() error {
	defer s.end()
	return s.Conn.Close()
}

// Await returns the first bytes of a response without reading them, or an empty string if they do not arrive within the given time.
func (s *Stream) Await(length int, d time.Duration) string {
	if s.SetReadDeadline(time.Now().Add(d)) != nil {
		return ""
	}
	begin, err := s.Reader.Peek(length)
	if s.SetReadDeadline(s.deadline) != nil || err != nil {
		return ""
	}
	return string(begin)
}

// Allow sets how many more bytes can be read.
func (s *Stream) Allow(bytes int64) { s.limited.N = bytes }

// Response is a response with data about its transmission.
type Response struct {
	Status   int
	Header   http.Header
	Trailers http.Header
	Interim  []int  // the status codes of the interim responses
	Continue int    // the status that arrived before the body was sent; 0 if there was none, or the body was sent at once
	Body     []byte // the beginning of the body
	Size     int64  // size of the received part of the body

	Proven      bool          // the response comes from the Echo
	Cached      bool          // the response is to an earlier request
	Claims      *proof.Claims // what the Echo asserts about the request and the response; nil unless the response is proven
	Changed     bool          // the body is not the one that the Echo sent
	Description *Description  // nil unless the Echo describes the request, and the body is the one that the Echo sent

	Arrivals  []time.Duration // when the events of a stream arrived
	Ended     bool            // the stream of events ended
	WebSocket *WebSocket      // nil unless the request opened a WebSocket
	Local     netip.AddrPort
	Remote    string // host and port
	TLS       *tls.ConnectionState
	Took      time.Duration // the time until the header arrived
	Closed    bool          // the server closes the connection after the response

	AsksForCertificate bool // the server has requested a client certificate, but there is none
}

// WebSocket is what happened on a WebSocket.
type WebSocket struct {
	Subprotocol string
	Handshake   *Description // nil unless the Echo describes the handshake
	Size        int          // of the last message, in bytes
	Lost        error        // why this message did not return; nil if it did
}

func (a *Response) readBody(response *http.Response, limit int64) {
	defer func() { _ = response.Body.Close() }()
	a.Body, _ = io.ReadAll(io.LimitReader(response.Body, min(limit, MaxBody)))
	rest, _ := io.Copy(io.Discard, io.LimitReader(response.Body, limit-int64(len(a.Body))+1))
	a.Size = int64(len(a.Body)) + rest
	a.Trailers = response.Trailer
	if a.Claims == nil || a.Claims.Body == "" || response.Request != nil && response.Request.Method == http.MethodHead {
		return
	}
	text := a.Body
	if a.Header.Get("Content-Encoding") == "gzip" { // the Echo signs the text before a proxy compresses it
		if reader, err := gzip.NewReader(bytes.NewReader(a.Body)); err == nil {
			text, _ = io.ReadAll(io.LimitReader(reader, MaxBody))
		}
	}
	a.Changed = proof.Digest(text) != a.Claims.Body
	if a.Claims.Describes && !a.Changed {
		a.Description = ParseDescription(text)
	}
}

// These are refusals: of a request that got no response in time, and of an HTTP/2 request on a path without HTTP/2.
const TimedOut, NoHTTP2 = "time out", "no HTTP/2"

// RefusalOf returns a name for the reason why a request got no response.
func RefusalOf(err error) string {
	var timedOut net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no connection"
	case errors.Is(err, ErrNoHTTP2):
		return NoHTTP2
	case errors.Is(err, ErrHandshake):
		return "handshake"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timedOut) && timedOut.Timeout():
		return TimedOut
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, errStreamReset):
		return "reset"
	}
	return "closed"
}

// RejectedByEcho reports whether the Echo itself rejects a request because of its size. Over HTTP/1, the rejection contains no proof,
// because the Echo does not read the header that requests a proof.
func (a *Response) RejectedByEcho() bool {
	sizes := []int{http.StatusRequestHeaderFieldsTooLarge, http.StatusRequestURITooLong, http.StatusRequestEntityTooLarge}
	return slices.Contains(sizes, a.Status) && (a.Proven && !a.Cached || bytes.HasPrefix(a.Body, []byte("echo-server: the ")))
}

// Description is an echo server's description of the request that it received.
type Description struct {
	Path, Host, Method, Proto string
	Headers                   http.Header
	Pod                       string
	TLS                       *struct{ Version, ServerName, CipherSuite string }
	Request                   struct {
		HeaderNames []string
		Body        *struct {
			Size   int64
			SHA256 string
		}
		Trailers http.Header
	}
	Client struct{ RemoteAddress string }
}

// maxTexts is the maximum number of names and values in a description. Requests from pathcheck contain far fewer. The limit exists because
// each name or value uses much more memory than its length in bytes.
const maxTexts = 20_000

// ParseDescription parses a description. It returns nil if the body does not describe a request.
func ParseDescription(body []byte) *Description {
	if bytes.Count(body, []byte{'"'}) > 2*maxTexts {
		return nil
	}
	e := &Description{}
	if json.Unmarshal(body, e) != nil || e.Method == "" || e.Path == "" {
		return nil
	}
	return e
}

// Peer returns the remote address of the echo server's connection, if known.
func (e *Description) Peer() netip.Addr {
	address, _ := netip.ParseAddrPort(e.Client.RemoteAddress) // the zero value if unknown
	return address.Addr().Unmap()
}

// PathOnly returns the path without the query, to which a proxy may have added parameters.
func (e *Description) PathOnly() string {
	path, _, _ := strings.Cut(e.Path, "?")
	return path
}

// Values returns a header's values. The case of the name does not matter.
func (e *Description) Values(name string) []string { return e.Headers[http.CanonicalHeaderKey(name)] }

// Has reports whether the echo server has received a header.
func (e *Description) Has(name string) bool { return len(e.Values(name)) > 0 }

// Reported returns the values that proxies report in a header of this request: the elements of a list, which may span several lines, or the
// values of a Forwarded parameter.
func (e *Description) Reported(header, parameter string) (values []string) {
	for _, element := range splitUnquoted(strings.Join(e.Values(header), ","), ',') {
		if header == "Forwarded" {
			element = parameterOf(element, parameter)
		}
		if element = strings.TrimSpace(element); element != "" {
			values = append(values, element)
		}
	}
	return values
}

// parameterOf returns the value, without quotes, of a parameter in an element of a Forwarded header (RFC 7239, 4). It also accepts elements
// that are not valid, because pathcheck reports what arrives.
func parameterOf(element, parameter string) string {
	for _, each := range splitUnquoted(element, ';') {
		name, value, _ := strings.Cut(each, "=")
		if strings.EqualFold(strings.TrimSpace(name), parameter) {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// splitUnquoted splits a string at a separator that is not within quotes.
func splitUnquoted(text string, separator rune) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == separator && !quoted
	})
}
