package pathcheck

import (
	"bufio"
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

// answer is a response, and how it came.
type answer struct {
	status   int
	proto    string
	header   http.Header
	trailers http.Header
	interim  []int  // the statuses of the responses before it
	body     []byte // its beginning
	size     int64  // of the body, as far as it came
	whole    bool   // the body came to its end

	proven  bool // it is that of the Echo
	cached  bool // it is that of an earlier request
	attempt int  // how many requests with the nonce the Echo has received
	echo    *echo

	local  netip.AddrPort
	remote string // host and port
	tls    *tls.ConnectionState
	took   time.Duration // until the header came
	closed bool          // the connection is closed after it
}

// stream is a connection on which a request was sent.
type stream struct {
	net.Conn
	limited *io.LimitedReader
	reader  *bufio.Reader
	method  string
	nonce   string
	began   time.Time
	end     func()
}

func newStream(c net.Conn, method, nonce string, end func()) *stream {
	limited := &io.LimitedReader{R: c, N: maxHeader}
	return &stream{Conn: c, limited: limited, reader: bufio.NewReaderSize(limited, 4<<10), method: method, nonce: nonce, began: time.Now(), end: end}
}

// Close implements net.Conn.
func (s *stream) Close() error {
	defer s.end()
	return s.Conn.Close()
}

// allow allows to read a number of bytes more.
func (s *stream) allow(bytes int64) { s.limited.N = bytes }

// state returns the state of TLS, or nil.
func (s *stream) state() *tls.ConnectionState {
	if secured, ok := s.Conn.(*tls.Conn); ok {
		state := secured.ConnectionState()
		return &state
	}
	return nil
}

// readHeader reads a response up to its body, interim ones included, at most maxHeader bytes.
func (s *stream) readHeader() (*http.Response, []int, error) {
	const maxInterim = 8
	s.limited.N = maxHeader
	var interim []int
	for {
		response, err := http.ReadResponse(s.reader, &http.Request{Method: s.method})
		if err != nil {
			return nil, interim, err
		}
		if response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols || len(interim) == maxInterim {
			return response, interim, nil
		}
		interim = append(interim, response.StatusCode)
	}
}

// readAnswer reads a response. It keeps at most maxBody bytes of the body, and reads at most limit.
func (s *stream) readAnswer(limit int64) (*answer, error) {
	response, interim, err := s.readHeader() //nolint:bodyclose // readBody closes it
	if err != nil {
		return nil, err
	}
	a := s.newAnswer(response, interim)
	s.limited.N = limit + maxHeader
	a.readBody(response, limit)
	return a, nil
}

// newAnswer returns an answer without a body.
func (s *stream) newAnswer(response *http.Response, interim []int) *answer {
	return &answer{status: response.StatusCode, proto: response.Proto, header: response.Header, interim: interim, local: addressOf(s.LocalAddr()), remote: s.RemoteAddr().String(),
		tls: s.state(), took: time.Since(s.began), closed: response.Close}
}

func (a *answer) readBody(response *http.Response, limit int64) {
	defer func() { _ = response.Body.Close() }()
	a.body, _ = io.ReadAll(io.LimitReader(response.Body, min(limit, maxBody)))
	rest, err := io.Copy(io.Discard, io.LimitReader(response.Body, limit-int64(len(a.body))+1))
	a.size = int64(len(a.body)) + rest
	a.whole = err == nil && a.size <= limit
	a.trailers = response.Trailer
	a.echo = parseEcho(response.Header.Get("Content-Type"), a.body)
}

func addressOf(address net.Addr) netip.AddrPort {
	parsed, _ := netip.ParseAddrPort(address.String())
	return netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port())
}

// refusalOf names how a request failed without a response.
func refusalOf(err error) string {
	var timedOut net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no connection"
	case errors.Is(err, errHandshake):
		return "handshake"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timedOut) && timedOut.Timeout():
		return "time out"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	}
	return "closed"
}

// refusal names the response of the way to a request, for one that does not come from the Echo.
func (a *answer) refusal() string { return strconv.Itoa(a.status) }
