// Package wire sends requests byte for byte as specified, reads responses, and keeps a run within its limits.
package wire

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/echo-operator/echo-operator/internal/proof"
)

// Client sends requests to a target within the limits of a run.
type Client struct {
	Target
	Limits  *Limits
	Echo    proof.Echo
	Agent   string
	Headers []Field       // added to each request, except headers that the request already has
	MaxTLS  uint16        // the latest TLS version that the client offers; 0 means any
	Slow    time.Duration // how much longer than usual the client waits, because the path is slow
}

// Open sends the header of a request on a new connection.
func (c *Client) Open(ctx context.Context, r *Request) (*Stream, error) {
	end, err := c.Limits.Begin(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := c.Connect(ctx, c.Limits)
	if err != nil {
		end()
		return nil, err
	}
	deadline := time.Now().Add(cmp.Or(r.Timeout, Timeout) + c.Slow)
	setDeadline, raw := connection.SetDeadline(deadline), connection
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // makes reads and writes fail
	config := c.TLSConfig("http/1.1")
	config.MaxVersion = c.MaxTLS
	isAsked := false
	if c.Certificate == nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			isAsked = true
			return &tls.Certificate{}, nil
		}
	}
	connection, err = c.secure(ctx, connection, config)
	if err := cmp.Or(err, setDeadline); err != nil {
		stop()
		end()
		return nil, err
	}
	r.Nonce = cmp.Or(r.Nonce, NewNonce())
	limited := &io.LimitedReader{R: connection, N: maxHeader}
	s := &Stream{Conn: connection, limited: limited, deadline: deadline, Reader: bufio.NewReaderSize(limited, 4<<10), method: r.methodOrGet(),
		Nonce: r.Nonce, asksForCertificate: isAsked, Began: time.Now(), end: sync.OnceFunc(func() { // a stream may be closed twice
			stop()
			end()
		})}
	r.Sent = s.Began
	if _, err := s.Write(c.Header(r)); err != nil {
		_ = s.Close() // writing has already failed
		return nil, err
	}
	return s, nil
}

// SendNext sends the header of another request on a stream's connection, and sets a new time limit for the response.
func (c *Client) SendNext(s *Stream, r *Request) error {
	if err := c.Limits.Count(); err != nil {
		return err
	}
	if err := s.SetDeadline(time.Now().Add(cmp.Or(r.Timeout, Timeout) + c.Slow)); err != nil {
		return err
	}
	s.Nonce = NewNonce()
	r.Nonce = s.Nonce
	_, err := s.Write(c.Header(r))
	return err
}

// Do sends a request and reads the response.
func (c *Client) Do(ctx context.Context, r *Request) (*Response, error) {
	s, err := c.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	var writing sync.WaitGroup
	defer writing.Wait()
	defer func() { _ = s.Close() }() // only the data read so far matters
	if len(r.Body) > MaxBody && s.Await(1, c.Slow+minWait) != "" {
		return c.Read(s, MaxBody) // a server that refuses the body by its length does not need it
	}
	writing.Go(func() { // the server may respond before the end of the body, so that writing fails
		switch {
		case r.Chunked:
			_, _ = httputil.NewChunkedWriter(s).Write(r.Body)
			EndChunks(s, r.Trailers)
		case len(r.Body) > 0:
			_, _ = s.Write(r.Body)
		}
	})
	return c.Read(s, int64(len(r.Body))+MaxBody)
}

// Read reads the response to a stream's request, and judges it. It reads at most limit bytes of the body, and keeps at most MaxBody bytes.
func (c *Client) Read(s *Stream, limit int64) (*Response, error) {
	response, a, err := c.ReadHeader(s) //nolint:bodyclose // readBody closes it
	if err != nil {
		return nil, err
	}
	s.limited.N = limit + maxHeader
	a.readBody(response, limit)
	return a, nil
}

// ReadHeader reads any interim responses, and the final response up to its body, and judges it. It reads at most maxHeader bytes.
func (c *Client) ReadHeader(s *Stream) (*http.Response, *Response, error) {
	const maxInterim = 8
	s.limited.N = maxHeader
	var interim []int
	response, err := http.ReadResponse(s.Reader, &http.Request{Method: s.method})
	for err == nil && response.StatusCode < 200 && response.StatusCode != http.StatusSwitchingProtocols && len(interim) < maxInterim {
		interim = append(interim, response.StatusCode)
		response, err = http.ReadResponse(s.Reader, &http.Request{Method: s.method})
	}
	if err != nil {
		return nil, nil, err
	}
	local, _ := netip.ParseAddrPort(s.LocalAddr().String())
	a := &Response{Status: response.StatusCode, Header: response.Header, Interim: interim, Remote: s.RemoteAddr().String(),
		Local: netip.AddrPortFrom(local.Addr().Unmap(), local.Port()), Took: time.Since(s.Began), Closed: response.Close,
		AsksForCertificate: s.asksForCertificate}
	if secured, ok := s.Conn.(*tls.Conn); ok {
		state := secured.ConnectionState()
		a.TLS = &state
	}
	c.Judge(a, s.Nonce)
	return response, a, nil
}

// Judge determines whether a response comes from the Echo, and whether it is a response to an earlier request. It keeps the Echo's claims.
func (c *Client) Judge(a *Response, nonce string) {
	values := a.Header.Values(proof.ResponseHeader)
	if len(values) != 1 {
		return
	}
	if a.Claims, a.Proven = c.Echo.Verify(nonce, values[0]); !a.Proven {
		c.Limits.mutex.Lock()
		defer c.Limits.mutex.Unlock()
		for _, earlier := range c.Limits.nonces {
			if claims, ok := c.Echo.Verify(earlier, values[0]); ok {
				a.Claims, a.Proven, a.Cached = claims, true, true
			}
		}
	}
}

// JudgeMessage judges a response by a message that encloses a proof, and returns the description in the message.
func (c *Client) JudgeMessage(a *Response, nonce string, message []byte) *Description {
	value, text := proof.Split(message)
	claims, ok := c.Echo.Verify(nonce, value)
	if !ok || proof.Digest(text) != claims.Body {
		return nil
	}
	a.Claims, a.Proven, a.Cached = claims, true, false
	return ParseDescription(text)
}

// Roots returns the trusted authorities: the browsers' roots, and the given PEM certificates.
func Roots(ca []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("a built-in root certificate is not valid: %w", err)
		}
		if root.Constraint == nil {
			pool.AddCert(certificate)
		} else {
			pool.AddCertWithConstraint(certificate, root.Constraint)
		}
	}
	pool.AppendCertsFromPEM(ca)
	return pool, nil
}

// minWait is the minimum time for which a large body is held back, because the header may suffice for a refusal.
const minWait = 50 * time.Millisecond

const (
	// MaxRequests, MaxBytes, and maxOpen limit the requests, the bytes sent and received, and the concurrent connections of a run.
	MaxRequests = 300
	MaxBytes    = 64 << 20
	maxOpen     = 10
	// maxHeader and MaxBody are the maximum sizes, in bytes, of a response's header and of the retained part of its body.
	maxHeader = 256 << 10
	MaxBody   = 1 << 20
	// Timeout is the time limit for a response, and LongTimeout is the time limit for the response to a large request.
	Timeout     = 10 * time.Second
	LongTimeout = 30 * time.Second
)

var (
	errRequests = fmt.Errorf("the run has sent %d requests, the maximum", MaxRequests)
	errBytes    = fmt.Errorf("the run has sent and received %d MiB, the maximum", MaxBytes>>20)
)

// Limits tracks the requests, bytes, connections, and nonces that a run has used.
type Limits struct {
	requests atomic.Int64
	bytes    atomic.Int64
	open     chan struct{}
	mutex    sync.Mutex // protects nonces
	nonces   []string
}

func NewLimits() *Limits { return &Limits{open: make(chan struct{}, maxOpen)} }

// Begin counts a request, and acquires a connection slot, which the returned function releases.
func (l *Limits) Begin(ctx context.Context) (end func(), err error) {
	select {
	case l.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := l.Count(); err != nil {
		<-l.open
		return nil, err
	}
	return func() { <-l.open }, nil
}

func (l *Limits) Count() error {
	if l.requests.Add(1) > MaxRequests {
		l.requests.Add(-1)
		return errRequests
	}
	return nil
}

// Sent returns the number of requests that were sent.
func (l *Limits) Sent() int { return int(l.requests.Load()) }

// Taken returns the number of open connections.
func (l *Limits) Taken() int { return len(l.open) }

// Used returns the number of bytes sent and received.
func (l *Limits) Used() int64 { return min(l.bytes.Load(), MaxBytes) }

// countedConn is a connection that counts its bytes toward the limits.
type countedConn struct {
	net.Conn
	limits *Limits
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	if c.limits.bytes.Load() >= MaxBytes {
		return 0, errBytes
	}
	n, err := c.Conn.Read(p)
	c.limits.bytes.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	if c.limits.bytes.Add(int64(len(p))) > MaxBytes {
		return 0, errBytes
	}
	return c.Conn.Write(p)
}

// IsLimit reports whether an error means that the run has reached a limit.
func IsLimit(err error) bool { return errors.Is(err, errRequests) || errors.Is(err, errBytes) }
