package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// DoHTTP2 sends a request over HTTP/2 on a new connection, and reads the response.
func (c *Client) DoHTTP2(ctx context.Context, r *Request) (*Response, error) {
	response, end, err := c.RoundTripHTTP2(ctx, r) //nolint:bodyclose // end closes it
	if err != nil {
		return nil, err
	}
	defer end()
	a := &Response{Status: response.StatusCode, Header: response.Header, TLS: response.TLS}
	c.Judge(a, r.Nonce)
	a.readBody(response, MaxBody)
	return a, nil
}

var (
	ErrNoHTTP2 = errors.New("the server does not accept HTTP/2")
	errRetried = errors.New("it requests a retry")
)

// RoundTripHTTP2 sends a request over HTTP/2 on a new connection: over TLS if the URL's scheme is https, otherwise with prior knowledge.
// Callers must call the returned function after they have read the response.
func (c *Client) RoundTripHTTP2(ctx context.Context, r *Request) (*http.Response, func(), error) {
	end, err := c.Limits.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP2(c.Scheme == "https")
	protocols.SetUnencryptedHTTP2(c.Scheme != "https")
	transport := &http.Transport{Protocols: protocols, DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
		TLSClientConfig: c.TLSConfig(),
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Connect(ctx, c.Limits) }}
	ctx, timedOut := context.WithTimeout(ctx, cmp.Or(r.Timeout, Timeout)+c.Slow)
	attempt, cancel := context.WithCancelCause(ctx)
	stop := func() {
		cancel(nil)
		timedOut()
		end()
		transport.CloseIdleConnections()
	}
	var attempts atomic.Int32
	// net/http repeats a request each time a server closes the connection or the stream.
	traced := httptrace.WithClientTrace(attempt, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if attempts.Add(1) > 1 {
			cancel(errRetried)
		}
	}})
	r.Nonce = cmp.Or(r.Nonce, NewNonce())
	outgoing, err := http.NewRequestWithContext(traced, r.methodOrGet(), c.Scheme+"://"+c.Host+c.Base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		stop()
		return nil, nil, err
	}
	for _, each := range c.fields(r) {
		outgoing.Header.Add(each.Name, each.Value)
	}
	response, err := transport.RoundTrip(outgoing)
	if err != nil {
		defer stop()
		switch {
		case IsLimit(err) || ctx.Err() != nil:
			return nil, nil, err
		case errors.Is(context.Cause(attempt), errRetried):
			err = errRetried
		}
		return nil, nil, fmt.Errorf("%w: %w", ErrNoHTTP2, err)
	}
	closeBody := func() {
		_ = response.Body.Close()
		stop()
	}
	if response.ProtoMajor != 2 {
		closeBody()
		return nil, nil, ErrNoHTTP2
	}
	return response, closeBody, nil
}

// maxFrame is the largest HTTP/2 frame size, in bytes, that every server must accept (RFC 9113, 4.2).
const maxFrame = 16 << 10

var errStreamReset = errors.New("the stream was reset")

// NotAnnounced is the refusal of a request that a server's settings do not allow.
const NotAnnounced = "not announced"

var errNotAnnounced = errors.New(NotAnnounced)

// ExtendedConnect sends a WebSocket handshake over HTTP/2 (RFC 8441) if the server announces support for it. net/http cannot send this
// handshake. Only the header of the response is read.
func (c *Client) ExtendedConnect(ctx context.Context, r *Request) (*Response, error) {
	end, err := c.Limits.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	connection, err := c.Connect(ctx, c.Limits)
	if err != nil {
		return nil, err
	}
	raw := connection
	defer func() { _ = raw.Close() }() // only the data read so far matters
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	if err := raw.SetDeadline(time.Now().Add(Timeout + c.Slow)); err != nil {
		return nil, err
	}
	if connection, err = c.secure(ctx, raw, c.TLSConfig("h2")); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHTTP2, err)
	}
	framer, announced, err := readSettings(connection)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHTTP2, err)
	}
	if !announced {
		return nil, errNotAnnounced
	}
	r.Nonce = NewNonce()
	if err := writeConnect(framer, c, r); err != nil {
		return nil, err
	}
	a, err := readConnect(framer)
	if err == nil {
		c.Judge(a, r.Nonce)
	}
	return a, err
}

// readSettings begins an HTTP/2 connection, and reports whether the server's settings announce extended CONNECT.
func readSettings(c net.Conn) (framer *http2.Framer, announced bool, err error) {
	if secured, ok := c.(*tls.Conn); ok && secured.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, false, errors.New("the TLS handshake did not negotiate h2")
	}
	framer = http2.NewFramer(c, io.LimitReader(c, maxHeader))
	framer.SetMaxReadFrameSize(maxFrame)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, err = io.WriteString(c, http2.ClientPreface)
	if err := errors.Join(err, framer.WriteSettings()); err != nil {
		return nil, false, err
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		return nil, false, err
	}
	settings, ok := frame.(*http2.SettingsFrame)
	if !ok {
		return nil, false, errors.New("it does not begin with settings")
	}
	value, _ := settings.Value(http2.SettingEnableConnectProtocol)
	return framer, value == 1, framer.WriteSettingsAck()
}

func writeConnect(framer *http2.Framer, c *Client, r *Request) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, each := range slices.Concat(Fields(":method", http.MethodConnect, ":protocol", "websocket", ":scheme", c.Scheme,
		":authority", c.Host, ":path", c.Base+r.Path), c.fields(r)) {
		if err := encoder.WriteField(hpack.HeaderField{Name: strings.ToLower(each.Name), Value: each.Value}); err != nil {
			return err
		}
	}
	fragments := slices.Collect(slices.Chunk(block.Bytes(), maxFrame))
	last := len(fragments) - 1
	err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fragments[0], EndHeaders: last == 0})
	for i := 1; i <= last && err == nil; i++ {
		err = framer.WriteContinuation(1, i == last, fragments[i])
	}
	return err
}

func readConnect(framer *http2.Framer) (*Response, error) {
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			return nil, errStreamReset
		case *http2.GoAwayFrame:
			return nil, io.EOF
		case *http2.MetaHeadersFrame:
			status, err := strconv.Atoi(frame.PseudoValue("status"))
			if err != nil {
				return nil, err
			}
			a := &Response{Status: status, Header: http.Header{}}
			for _, each := range frame.RegularFields() {
				a.Header.Add(each.Name, each.Value)
			}
			if status >= http.StatusOK {
				return a, nil
			}
		}
	}
}
