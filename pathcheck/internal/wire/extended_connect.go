package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// maxFrame is the largest HTTP/2 frame size, in bytes, that every server must accept (RFC 9113, 4.2).
const maxFrame = 16 << 10

var errStreamReset = errors.New("the stream was reset")

// ExtendedConnect sends a WebSocket handshake over HTTP/2 (RFC 8441) if the server announces support for it. net/http cannot send this
// handshake. Only the header of the response is read.
func (c *Client) ExtendedConnect(ctx context.Context, r *Request) (announced bool, a *Response, err error) {
	end, err := c.Limits.Begin(ctx)
	if err != nil {
		return false, nil, err
	}
	defer end()
	connection, err := c.Connect(ctx, c.Limits)
	if err != nil {
		return false, nil, err
	}
	raw := connection
	defer func() { _ = raw.Close() }() // only the data read so far matters
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	if err := raw.SetDeadline(time.Now().Add(Timeout)); err != nil {
		return false, nil, err
	}
	if connection, err = c.secure(ctx, raw, c.TLSConfig("h2")); err != nil {
		return false, nil, fmt.Errorf("%w: %w", ErrNoHTTP2, err)
	}
	framer, announced, err := readSettings(connection)
	if err != nil {
		return false, nil, fmt.Errorf("%w: %w", ErrNoHTTP2, err)
	}
	if !announced {
		return false, nil, nil
	}
	r.Nonce = NewNonce()
	if err := writeConnect(framer, c, r); err != nil {
		return true, nil, err
	}
	if a, err = readConnect(framer); err == nil {
		c.Judge(a, r.Nonce)
	}
	return true, a, err
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
