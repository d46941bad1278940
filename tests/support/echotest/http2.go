package echotest

import (
	"bytes"
	"io"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// maxFrame is the largest frame that every server accepts (RFC 9113, 4.2).
const maxFrame = 16 << 10

// Greet starts an HTTP/2 connection by sending the client preface.
func Greet(connection net.Conn, settings ...http2.Setting) (*http2.Framer, error) {
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		return nil, err
	}
	framer := http2.NewFramer(connection, connection)
	return framer, framer.WriteSettings(settings...)
}

// FieldBlock returns an encoded header that contains only the given fields. It adds none of them to the table of the connection.
func FieldBlock(fields ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true}) // writing to a buffer never fails
	}
	return block.Bytes()
}

// HeaderBlock returns the encoded header of a request to the authority a.
func HeaderBlock(method, path string, fields ...string) []byte {
	return HeaderBlockTo("a", method, path, fields...)
}

// HeaderBlockTo is like HeaderBlock, but with the given authority.
func HeaderBlockTo(authority, method, path string, fields ...string) []byte {
	return FieldBlock(append([]string{":method", method, ":path", path, ":scheme", "http", ":authority", authority}, fields...)...)
}

// WriteHeader writes a header in frames that are small enough for every server.
func WriteHeader(framer *http2.Framer, stream uint32, block []byte, endStream, endHeaders bool) error {
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
