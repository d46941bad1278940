package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/net/http2"
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

var ErrNoHTTP2, errStreamReset = errors.New("the server does not accept HTTP/2"), errors.New("the stream was reset")

// RoundTripHTTP2 sends a request over HTTP/2 on a new connection: over TLS if the URL's scheme is https, otherwise with prior knowledge.
// Callers must call the returned function after they have read the response.
func (c *Client) RoundTripHTTP2(ctx context.Context, r *Request) (_ *http.Response, end func(), err error) {
	release, err := c.Limits.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, Timeout)+c.Slow)
	stop := func() {
		cancel()
		release()
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	protocols := &http.Protocols{}
	protocols.SetHTTP2(c.Scheme == "https")
	protocols.SetUnencryptedHTTP2(c.Scheme != "https")
	transport := &http.Transport{Protocols: protocols, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		TLSClientConfig: c.TLSConfig(),
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Connect(ctx, c.Limits) }}
	client, err := transport.NewClientConn(ctx, c.Scheme, c.Dial)
	if err != nil {
		return nil, nil, noHTTP2(ctx, err)
	}
	context.AfterFunc(ctx, func() { _ = client.Close() }) // only the data read so far matters
	r.Nonce = cmp.Or(r.Nonce, NewNonce())
	outgoing, err := http.NewRequestWithContext(ctx, r.methodOrGet(), c.Scheme+"://"+c.Host+c.Base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, nil, err
	}
	for _, each := range c.fields(r) {
		outgoing.Header.Add(each.Name, each.Value)
	}
	response, err := client.RoundTrip(outgoing)
	if err != nil {
		return nil, nil, noHTTP2(ctx, err)
	}
	if response.ProtoMajor != 2 {
		return nil, nil, ErrNoHTTP2
	}
	return response, func() {
		_ = response.Body.Close()
		stop()
	}, nil
}

// noHTTP2 returns the error for a request that got no response. Unless the path explains it, the server does not speak HTTP/2.
func noHTTP2(ctx context.Context, err error) error {
	var reset http2.StreamError
	switch {
	case IsLimit(err), ctx.Err() != nil, RefusalOf(err) == TimedOut:
		return err
	case errors.As(err, &reset) && reset.Code != http2.ErrCodeHTTP11Required:
		return fmt.Errorf("%w: %w", errStreamReset, err)
	}
	return fmt.Errorf("%w: %w", ErrNoHTTP2, err)
}
