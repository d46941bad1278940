package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// NewHTTP2 returns a transport for HTTP/2: over TLS if the URL's scheme is https, otherwise with prior knowledge.
func (c *Client) NewHTTP2() *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(c.Scheme == "https")
	protocols.SetUnencryptedHTTP2(c.Scheme != "https")
	return &http.Transport{Protocols: protocols, DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
		TLSClientConfig: c.TLSConfig(),
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Connect(ctx, c.Limits) }}
}

// DoHTTP2 sends a request over HTTP/2 on a new connection, and reads the response.
func (c *Client) DoHTTP2(ctx context.Context, r *Request) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, Timeout))
	defer cancel()
	transport := c.NewHTTP2()
	defer transport.CloseIdleConnections()
	response, end, err := c.RoundTrip(ctx, transport, r) //nolint:bodyclose // end closes it
	if err != nil {
		return nil, err
	}
	defer end()
	a := &Response{Status: response.StatusCode, Header: response.Header, TLS: response.TLS}
	a.readBody(response, MaxBody)
	a.Trailers = response.Trailer
	c.Judge(a, r.Nonce)
	return a, nil
}

var (
	ErrNoHTTP2 = errors.New("the server does not accept HTTP/2")
	errRetried = errors.New("it requests a retry")
)

// once returns a context that is canceled when net/http repeats a request, as it does each time a server closes the connection or the
// stream.
func once(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var attempts atomic.Int32
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if attempts.Add(1) > 1 {
			cancel(errRetried)
		}
	}}), cancel
}

// RoundTrip sends a request over HTTP/2. Callers must call the returned function after they have read the response.
func (c *Client) RoundTrip(ctx context.Context, transport *http.Transport, r *Request) (*http.Response, func(), error) {
	end, err := c.Limits.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.Nonce = cmp.Or(r.Nonce, NewNonce())
	attempt, cancel := once(ctx)
	stop := func() {
		cancel(nil)
		end()
	}
	outgoing, err := http.NewRequestWithContext(attempt, r.methodOrGet(), c.Scheme+"://"+c.Host+c.Base+r.Path, bytes.NewReader(r.Body))
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
