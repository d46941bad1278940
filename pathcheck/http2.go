package pathcheck

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// newHTTP2 returns a transport for HTTP/2: over TLS if the way offers it, or else with prior knowledge.
func (c *client) newHTTP2() *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(c.scheme == "https")
	protocols.SetUnencryptedHTTP2(c.scheme != "https")
	return &http.Transport{Protocols: protocols, DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader, TLSClientConfig: c.tlsConfig(),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx, c.limits) }}
}

// doHTTP2 sends a request by HTTP/2 on a connection of its own, and reads the response.
func (c *client) doHTTP2(ctx context.Context, r *request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.timeout, timeout))
	defer cancel()
	transport := c.newHTTP2()
	defer transport.CloseIdleConnections()
	response, end, err := c.roundTrip(ctx, transport, r) //nolint:bodyclose // end closes it
	if err != nil {
		return nil, err
	}
	defer end()
	a := &answer{status: response.StatusCode, proto: response.Proto, header: response.Header, tls: response.TLS}
	a.readBody(response, maxBody)
	a.trailers = response.Trailer
	c.judge(a, r.nonce)
	return a, nil
}

var (
	errNoHTTP2 = errors.New("the way does not take HTTP/2")
	errRetried = errors.New("it asks for the request again")
)

// once returns a context for one attempt of a request: a transport of net/http sends one again by itself if a server ends the connection or the
// stream, as often as that does. The function ends the context.
func once(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var attempts atomic.Int32
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if attempts.Add(1) > 1 {
			cancel(errRetried)
		}
	}}), cancel
}

// roundTrip sends a request by HTTP/2. The function ends it when the response has been read.
func (c *client) roundTrip(ctx context.Context, transport *http.Transport, r *request) (*http.Response, func(), error) {
	end, err := c.limits.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.nonce = cmp.Or(r.nonce, newNonce())
	attempt, cancel := once(ctx)
	stop := func() {
		cancel(nil)
		end()
	}
	outgoing, err := http.NewRequestWithContext(attempt, r.methodOrGet(), c.scheme+"://"+c.host+c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		stop()
		return nil, nil, err
	}
	for _, each := range append([]field{c.check(r.nonce), {"User-Agent", c.agent}, {"Accept", "application/json"}}, r.fields...) {
		outgoing.Header.Set(each.name, each.value)
	}
	response, err := transport.RoundTrip(outgoing)
	if err != nil {
		defer stop()
		switch {
		case isLimit(err) || ctx.Err() != nil:
			return nil, nil, err
		case errors.Is(context.Cause(attempt), errRetried):
			err = errRetried
		}
		return nil, nil, fmt.Errorf("%w: %w", errNoHTTP2, err)
	}
	closeBody := func() {
		_ = response.Body.Close()
		stop()
	}
	if response.ProtoMajor != 2 {
		closeBody()
		return nil, nil, errNoHTTP2
	}
	return response, closeBody, nil
}

// readUntil reads pieces until enough of them came or the deadline passes, and returns when each came.
func readUntil(body io.Reader, enough int, began time.Time, read func(io.Reader) error) (arrivals []time.Duration, err error) {
	for len(arrivals) < enough {
		if err := read(body); err != nil {
			return arrivals, err
		}
		arrivals = append(arrivals, time.Since(began))
	}
	return arrivals, nil
}
