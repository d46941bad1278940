package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// These constants are bits and values in a frame header (RFC 6455, 5.2).
const (
	finalBit           = 0x80
	opcodeContinuation = 0x0
	opcodeText         = 0x1
	opcodeBinary       = 0x2
	opcodeClose        = 0x8
	opcodePing         = 0x9
	opcodePong         = 0xA
	maskBit            = 0x80
	length16           = 126 // the length follows in 2 bytes
	length64           = 127 // the length follows in 8 bytes
)

// These constants repeat the limits in the websocket package.
const (
	maxMessage   = 1 << 20
	firstChunk   = 4 << 10
	maxChunk     = 64 << 10
	closeTimeout = 5 * time.Second
)

// rawClient is a WebSocket client that can violate any rule of the protocol.
type rawClient struct {
	net.Conn
	reader *bufio.Reader
}

const validHandshake = "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
	"dGhlIHNhbXBsZSBub25jZQ==\r\n"

// openRaw opens a WebSocket and sends frames together with the handshake request.
func openRaw(t *testing.T, connection net.Conn, frames ...string) *rawClient {
	t.Helper()
	c, response := handshake(t, connection, "/-/ws", nil, frames...)
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the response is %s", response.Status)
	}
	return c
}

// handshake sends a handshake request and frames in one write. It sends the additional headers unchanged.
func handshake(t *testing.T, connection net.Conn, target string, headers []string, frames ...string) (*rawClient, echotest.Reply) {
	t.Helper()
	request := "GET " + target + " HTTP/1.1\r\n" + validHandshake
	for i := 0; i < len(headers); i += 2 {
		request += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	request += "\r\n" + strings.Join(frames, "")
	go func() { _, _ = io.WriteString(connection, request) }() // the server may close the connection before it has read everything
	c := &rawClient{Conn: connection, reader: bufio.NewReader(connection)}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return c, echotest.Reply{Response: response}.Whole(t)
	}
	_ = response.Body.Close() // the response has no body
	return c, echotest.Reply{Response: response}
}

// send sends each frame in a separate packet.
func (c *rawClient) send(t *testing.T, frames ...string) {
	t.Helper()
	for _, frame := range frames {
		if _, err := io.WriteString(c, frame); err != nil {
			t.Fatal(err)
		}
	}
}

// next reads a message or control frame and returns it as text, such as "text hello" or "close 1000 bye". It returns "end" if either side
// has closed the connection.
func (c *rawClient) next(t *testing.T) string {
	t.Helper()
	final, opcode, payload, err := readFrame(c.reader)
	for err == nil && !final {
		var part []byte
		final, _, part, err = readFrame(c.reader)
		payload = append(payload, part...)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
		return "end"
	case err != nil:
		t.Fatal(err)
	case opcode == opcodeClose && len(payload) >= 2:
		return strings.TrimSpace(fmt.Sprintf("close %d %s", binary.BigEndian.Uint16(payload), payload[2:]))
	}
	names := map[byte]string{opcodeText: "text ", opcodeBinary: "binary ", opcodePong: "pong ", opcodeClose: "close"}
	return names[opcode] + string(payload)
}

// all reads messages and control frames until the connection is closed, and responds to the close frame.
func (c *rawClient) all(t *testing.T) []string {
	t.Helper()
	var got []string
	for {
		frame := c.next(t)
		if frame == "end" {
			return got
		}
		got = append(got, frame)
		if strings.HasPrefix(frame, "close") {
			_, _ = io.WriteString(c, masked(finalBit|opcodeClose, "")) // the server may have closed the connection already
		}
	}
}

// readFrame reads an unmasked frame from the server.
func readFrame(reader io.Reader) (final bool, opcode byte, payload []byte, err error) {
	var header [2]byte
	if _, err := io.ReadFull(reader, header[:]); err != nil {
		return false, 0, nil, err
	}
	length := [8]byte{7: header[1]}
	switch header[1] {
	case length16:
		_, err = io.ReadFull(reader, length[6:])
	case length64:
		_, err = io.ReadFull(reader, length[:])
	}
	if err != nil {
		return false, 0, nil, err
	}
	payload = make([]byte, binary.BigEndian.Uint64(length[:]))
	_, err = io.ReadFull(reader, payload)
	return header[0]&finalBit != 0, header[0] & 0x0F, payload, err
}

// masked returns a masked frame, as clients must send it. first is the byte with the flags and the opcode.
func masked(first byte, payload string) string {
	return announced(first, len(payload), payload)
}

// announced returns a frame whose header announces the given length. The payload can be shorter.
func announced(first byte, length int, payload string) string {
	key := [4]byte{0x12, 0xF0, 0x9A, 0x05}
	header := []byte{first, maskBit | byte(length)}
	switch {
	case length > 0xFFFF:
		header = binary.BigEndian.AppendUint64([]byte{first, maskBit | length64}, uint64(length))
	case length >= length16:
		header = binary.BigEndian.AppendUint16([]byte{first, maskBit | length16}, uint16(length))
	}
	header = append(header, key[:]...)
	data := []byte(payload)
	for i := range data {
		data[i] ^= key[i%len(key)]
	}
	return string(header) + string(data)
}

func textFrame(payload string) string { return masked(finalBit|opcodeText, payload) }

func pingFrame(payload string) string { return masked(finalBit|opcodePing, payload) }

func closeFrame(code uint16, reason string) string {
	return masked(finalBit|opcodeClose, string(binary.BigEndian.AppendUint16(nil, code))+reason)
}
