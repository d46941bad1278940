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

// What frames have (RFC 6455, 5.2).
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
	maskSize           = 4
	maxControl         = 125 // bytes of a payload
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

// next reads a message or control frame and returns it as text, such as "text hello" or "close 1000 bye". The end of the connection is
// "end".
func (c *rawClient) next(t *testing.T) string {
	t.Helper()
	opcode, payload, err := readMessage(c.reader)
	if errors.Is(err, io.EOF) {
		return "end"
	}
	if err != nil {
		t.Fatal(err)
	}
	return asText(opcode, payload)
}

// all reads messages and control frames until the connection ends, and responds to the close frame.
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

// readMessage reads a control frame, or a message, whose frames must not be interrupted.
func readMessage(reader io.Reader) (opcode byte, payload []byte, err error) {
	final, opcode, payload, err := readServerFrame(reader)
	for err == nil && !final {
		var next byte
		var part []byte
		if final, next, part, err = readServerFrame(reader); err == nil && next != opcodeContinuation {
			return 0, nil, fmt.Errorf("a frame with the opcode %d is within a message", next)
		}
		payload = append(payload, part...)
	}
	return opcode, payload, err
}

// readServerFrame reads a frame as a server must send it.
func readServerFrame(reader io.Reader) (final bool, opcode byte, payload []byte, err error) {
	var header [2]byte
	if _, err := io.ReadFull(reader, header[:]); err != nil {
		return false, 0, nil, err
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
		return false, 0, nil, err
	}
	final, isControl := header[0]&finalBit != 0, header[0]&8 != 0
	if header[0]&0x70 != 0 || header[1] >= maskBit || length > 2*maxMessage || isControl && (!final || length > maxControl) {
		return false, 0, nil, fmt.Errorf("invalid-header-%x-%x", header, extended)
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(reader, payload)
	return final, header[0] & 0x0F, payload, err
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
