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
	"time"
)

// newHTTP2 returns a transport for HTTP/2: over TLS if the way offers it, or else with prior knowledge.
func (c *client) newHTTP2() *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(c.scheme == "https")
	protocols.SetUnencryptedHTTP2(c.scheme != "https")
	return &http.Transport{Protocols: protocols, DisableCompression: true, MaxResponseHeaderBytes: maxHeader, TLSClientConfig: c.tlsConfig(),
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

var errNoHTTP2 = errors.New("the way does not take HTTP/2")

// roundTrip sends a request by HTTP/2. The function ends it when the response has been read.
func (c *client) roundTrip(ctx context.Context, transport *http.Transport, r *request) (*http.Response, func(), error) {
	end, err := c.limits.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.nonce = cmp.Or(r.nonce, newNonce())
	outgoing, err := http.NewRequestWithContext(ctx, r.methodOrGet(), c.scheme+"://"+c.host+c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		end()
		return nil, nil, err
	}
	for _, each := range append([]field{c.check(r.nonce), {"User-Agent", c.agent}, {"Accept", "application/json"}}, r.fields...) {
		outgoing.Header.Set(each.name, each.value)
	}
	response, err := transport.RoundTrip(outgoing)
	if err != nil {
		end()
		if isLimit(err) || ctx.Err() != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("%w: %w", errNoHTTP2, err)
	}
	if response.ProtoMajor != 2 {
		_ = response.Body.Close()
		end()
		return nil, nil, errNoHTTP2
	}
	return response, func() {
		_ = response.Body.Close()
		end()
	}, nil
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
