package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// writes returns a function that writes a string and reads nothing. The function writes in small pieces, and yields to other goroutines
// after each piece, so that the test can send its own requests and probes in time.
func writes(text string) func(net.Conn) error {
	const piece = 64 << 10
	return func(connection net.Conn) error {
		for rest := text; rest != ""; runtime.Gosched() {
			now := min(piece, len(rest))
			if _, err := io.WriteString(connection, rest[:now]); err != nil {
				return err
			}
			rest = rest[now:]
		}
		return nil
	}
}

// incompleteMessage returns a WebSocket message without its last byte.
func incompleteMessage() string {
	return "GET /-/ws HTTP/1.1\r\n" + validHandshake + "\r\n" + announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(maxMessage-1))
}

// manyPings returns a WebSocket handshake and many pings of the maximum size.
func manyPings() string {
	return "GET /-/ws HTTP/1.1\r\n" + validHandshake + "\r\n" + strings.Repeat(pingFrame(echotest.Payload(125)), 1000)
}

// streamKind specifies what an HTTP/2 request sends after its header.
type streamKind int

const (
	complete streamKind = iota
	withBody            // the last byte of the body is never sent
	withoutWindow
)

// overHTTP2 returns a function that starts HTTP/2 requests on a connection.
func overHTTP2(method, path string, kind streamKind, fields ...string) func(net.Conn) error {
	var body []byte
	if kind == withBody {
		body = []byte(echotest.Payload(600)) // the bodies of all requests fit into the connection's flow-control window
	}
	return overHTTP2Body(method, path, kind, body, fields...)
}

// overHTTP2Body is like overHTTP2, but for requests with a body.
func overHTTP2Body(method, path string, kind streamKind, body []byte, fields ...string) func(net.Conn) error {
	return framing(kind, func(framer *http2.Framer) error {
		for id := uint32(1); id < 2*maxStreams; id += 2 {
			err := writeHeader(framer, id, headerBlock(method, path, fields...), body == nil, true)
			for rest := body; err == nil && len(rest) > 0; {
				piece := rest[:min(len(rest), maxFrame)]
				rest = rest[len(piece):]
				err = framer.WriteData(id, kind != withBody && len(rest) == 0, piece)
			}
			if err != nil {
				return err
			}
			runtime.Gosched()
		}
		return nil
	})
}

// framing returns a function that starts an HTTP/2 connection, discards all data that it receives, and sends frames.
func framing(kind streamKind, write func(*http2.Framer) error) func(net.Conn) error {
	return func(connection net.Conn) error {
		framer, err := greet(connection, kind)
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, connection) }() // runs until the connection is closed
		return write(framer)
	}
}

// greet starts an HTTP/2 connection by sending the client preface.
func greet(connection net.Conn, kind streamKind) (*http2.Framer, error) {
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		return nil, err
	}
	framer := http2.NewFramer(connection, connection)
	var settings []http2.Setting
	if kind == withoutWindow {
		settings = append(settings, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	}
	return framer, framer.WriteSettings(settings...)
}

func headerBlock(method, path string, fields ...string) []byte {
	return headerBlockTo("a", method, path, fields...)
}

// headerBlockTo is like headerBlock, but with the given authority.
func headerBlockTo(authority, method, path string, fields ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", method}, {":path", path}, {":scheme", "http"}, {":authority", authority}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true}) // writing to a buffer never fails
	}
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true})
	}
	return block.Bytes()
}

// writeHeader writes a header in frames that are small enough for every server.
func writeHeader(framer *http2.Framer, stream uint32, block []byte, endStream, endHeaders bool) error {
	first := min(len(block), maxFrame)
	err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block[:first], EndStream: endStream,
		EndHeaders: endHeaders && first == len(block)})
	for block = block[first:]; err == nil && len(block) > 0; {
		next := min(len(block), maxFrame)
		err = framer.WriteContinuation(stream, endHeaders && next == len(block), block[:next])
		block = block[next:]
	}
	return err
}

// incompleteHTTP2Header returns a function that sends a header without the last byte of its last field, and never completes it.
func incompleteHTTP2Header(fields ...string) func(net.Conn) error {
	return framing(complete, func(framer *http2.Framer) error {
		block := headerBlock("GET", "/", fields...)
		return writeHeader(framer, 1, block[:len(block)-1], true, false)
	})
}

// manyFields returns the given number of fields with the given total size.
func manyFields(number, size int) (fields []string) {
	for i := range number {
		fields = append(fields, fmt.Sprint("x-", i), strings.Repeat("x", max(0, size/number-40))) // HPACK adds 32 bytes to each field's size
	}
	return fields
}

// listedFields returns fields of about the given total size, with values that are not UTF-8.
func listedFields(number, size int) (fields []string) {
	for i := range number {
		fields = append(fields, "x-"+strconv.Itoa(i), strings.Repeat("\xff", size/number-10))
	}
	return fields
}

// tinyFields returns fields with unique three-byte names and without values. A map of these fields is much larger than the sent data.
func tinyFields(number int) (fields []string) {
	for i := range number {
		fields = append(fields, string([]byte{'a' + byte(i/26/26%26), 'a' + byte(i/26%26), 'a' + byte(i%26)}), "")
	}
	return fields
}

// resets returns a function that starts requests and resets them as fast as the server reads. net/http queues new requests until the
// handlers of reset requests have returned.
func resets(block []byte) func(net.Conn) error {
	return framing(complete, func(framer *http2.Framer) error {
		for id := uint32(1); ; id += 2 {
			if err := errors.Join(writeHeader(framer, id, block, true, true), framer.WriteRSTStream(id, http2.ErrCodeCancel)); err != nil {
				return err
			}
		}
	})
}

// withTrailer returns a function that sends requests with a trailer of the given size. The responses are delayed.
func withTrailer(size int) func(net.Conn) error {
	return framing(complete, func(framer *http2.Framer) error {
		var trailer bytes.Buffer
		_ = hpack.NewEncoder(&trailer).WriteField(hpack.HeaderField{Name: "x-a", Value: echotest.Payload(size), Sensitive: true})
		for id := uint32(1); id < 2*maxStreams; id += 2 {
			err := writeHeader(framer, id, headerBlock("POST", "/?echo.delay=30s", "trailer", "x-a"), false, true)
			if err := errors.Join(err, framer.WriteData(id, false, []byte("body")),
				writeHeader(framer, id, trailer.Bytes(), true, true)); err != nil {
				return err
			}
			runtime.Gosched()
		}
		return nil
	})
}

// longFrame announces a frame of the maximum length, but sends only part of the frame.
func longFrame(connection net.Conn) error {
	if _, err := greet(connection, complete); err != nil {
		return err
	}
	if _, err := io.WriteString(connection, "\xff\xff\xff\x01\x05\x00\x00\x00\x01"); err != nil {
		return err
	}
	return writes(echotest.Payload(1 << 20))(connection)
}

func grpcFields() []string { return []string{"content-type", "application/grpc", "te", "trailers"} }

// unfinished returns an EchoRequest of about the given size, without its last byte.
func unfinished(size int) []byte {
	message := prefixed("\x12" + varint(size-8) + echotest.Payload(size-8))
	return message[:len(message)-1]
}

func varint(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// grpcStreams returns a function that starts gRPC calls. Each call sends one message as fast as the server accepts it, and then stays
// open.
func grpcStreams(method string, streams int, message []byte) func(net.Conn) error {
	return func(connection net.Conn) error {
		client := clientOver(connection)
		for range streams {
			r, err := http.NewRequest(http.MethodPost, "http://a/echo.v1.Echo/"+method, newStalledBody(message))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/grpc")
			go func() {
				if response, err := client.RoundTrip(r); err == nil {
					_ = response.Body.Close()
				}
			}()
		}
		return nil
	}
}

// clientOver returns a client that sends all requests over a single HTTP/2 connection.
func clientOver(connection net.Conn) *http.Transport {
	return &http.Transport{Protocols: echotest.OnlyHTTP2(), MaxConnsPerHost: 1,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return connection, nil }}
}

// stalledBody is a request body that never ends. Each read yields to other goroutines; see the function writes.
type stalledBody struct {
	io.Reader
	io.Closer
}

func newStalledBody(data []byte) stalledBody {
	endless, writer := io.Pipe()
	return stalledBody{io.MultiReader(politeReader{bytes.NewReader(data)}, endless), writer}
}

type politeReader struct{ io.Reader }

// Read implements io.Reader.
func (r politeReader) Read(p []byte) (int, error) {
	runtime.Gosched()
	return r.Reader.Read(p)
}
