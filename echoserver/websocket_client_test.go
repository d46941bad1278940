package main

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
)

// rawClient is a WebSocket client that can break every rule.
type rawClient struct {
	net.Conn
	reader *bufio.Reader
}

const validHandshake = "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// openRaw opens a WebSocket and sends frames with the request already.
func openRaw(t *testing.T, connection net.Conn, frames ...string) *rawClient {
	t.Helper()
	request := "GET /-/ws HTTP/1.1\r\n" + validHandshake + "\r\n" + strings.Join(frames, "")
	go func() { _, _ = io.WriteString(connection, request) }() // the server may close before it has read all
	c := &rawClient{Conn: connection, reader: bufio.NewReader(connection)}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close() // there is none
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the response is %s", response.Status)
	}
	return c
}

// send sends frames, each with a packet of its own.
func (c *rawClient) send(t *testing.T, frames ...string) {
	t.Helper()
	for _, frame := range frames {
		if _, err := io.WriteString(c, frame); err != nil {
			t.Fatal(err)
		}
	}
}

// next reads a frame and returns it as text, such as "text hello" or "close 1000 bye". The end of the connection is "end".
func (c *rawClient) next(t *testing.T) string {
	t.Helper()
	opcode, payload, err := readServerFrame(c.reader)
	if errors.Is(err, io.EOF) {
		return "end"
	}
	if err != nil {
		t.Fatal(err)
	}
	return asText(opcode, payload)
}

// all reads frames until the connection ends, and responds to the close frame.
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
			_, _ = io.WriteString(c, masked(finalBit|opcodeClose, "")) // the server may have closed already
		}
	}
}

// readServerFrame reads a frame as a server must send it.
func readServerFrame(reader io.Reader) (opcode byte, payload []byte, err error) {
	var header [2]byte
	if _, err := io.ReadFull(reader, header[:]); err != nil {
		return 0, nil, err
	}
	length, extended := uint64(header[1]), make([]byte, 8)
	switch header[1] {
	case length16:
		_, err = io.ReadFull(reader, extended[6:])
	case length64:
		_, err = io.ReadFull(reader, extended)
	}
	if header[1] >= length16 {
		length = binary.BigEndian.Uint64(extended)
	}
	if err != nil {
		return 0, nil, err
	}
	if header[0]&0xF0 != finalBit || header[1] >= maskBit || length > 2*maxMessage || header[0]&8 != 0 && length > maxControl {
		return 0, nil, fmt.Errorf("invalid-header-%x-%x", header, extended)
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(reader, payload)
	return header[0] & 0x0F, payload, err
}

func asText(opcode byte, payload []byte) string {
	if opcode == opcodeClose && len(payload) >= 2 {
		return strings.TrimSpace(fmt.Sprintf("close %d %s", binary.BigEndian.Uint16(payload), payload[2:]))
	}
	names := map[byte]string{opcodeText: "text ", opcodeBinary: "binary ", opcodePong: "pong ", opcodeClose: "close"}
	return names[opcode] + string(payload)
}

// masked returns a frame as a client must send it, for a first byte of flags and opcode.
func masked(first byte, payload string) string {
	return announced(first, len(payload), payload)
}

// announced returns a frame whose header announces a length, and what is sent of its payload.
func announced(first byte, length int, payload string) string {
	key := [maskSize]byte{0x12, 0xF0, 0x9A, 0x05}
	header := appendFrameHeader(nil, 0, length)
	header[0], header[1] = first, header[1]|maskBit
	header = append(header, key[:]...)
	data := []byte(payload)
	for i := range data {
		data[i] ^= key[i%maskSize]
	}
	return string(header) + string(data)
}

func textFrame(payload string) string { return masked(finalBit|opcodeText, payload) }

func pingFrame(payload string) string { return masked(finalBit|opcodePing, payload) }

func closeFrame(code uint16, reason string) string {
	return masked(finalBit|opcodeClose, string(binary.BigEndian.AppendUint16(nil, code))+reason)
}

// fragmentsOf returns a text message in frames of n bytes.
func fragmentsOf(payload string, n int) []string {
	var frames []string
	first := byte(opcodeText)
	for ; len(payload) > n; payload = payload[n:] {
		frames = append(frames, masked(first, payload[:n]))
		first = opcodeContinuation
	}
	return append(frames, masked(first|finalBit, payload))
}
