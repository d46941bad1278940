package pathcheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
)

// largeMessage is the size of the larger message that is sent through a WebSocket.
const largeMessage = 256 << 10

// examineWebSocket opens a WebSocket and sends messages.
func examineWebSocket(ctx context.Context, g *group) error {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	s, err := g.open(ctx, &request{path: "/-/ws", fields: []field{{"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"},
		{"Sec-WebSocket-Key", base64.StdEncoding.EncodeToString(key[:])}, {"Sec-WebSocket-Protocol", "pathcheck"}}})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()         // it needs no closing handshake
	response, interim, err := s.readHeader() //nolint:bodyclose // it ends with the connection
	if err != nil {
		o, err := g.outcome(ctx, nil, err)
		if o.refusal != "" {
			g.add(decideUpgrade(o))
		}
		return err
	}
	a := s.newAnswer(response, interim)
	g.judge(a, s.nonce)
	o, err := g.outcome(ctx, a, nil)
	if err == nil || o.refusal != "" {
		g.add(decideUpgrade(o))
	}
	if err != nil || o.refusal != "" || a.status != http.StatusSwitchingProtocols {
		return err
	}
	g.add(decideSubprotocol(a.header.Get("Sec-WebSocket-Protocol")))
	s.limited.N = 4 * largeMessage
	for _, size := range []int{100, largeMessage} {
		if err := s.exchangeMessage(filler(size)); err != nil {
			if ended := g.interrupted(ctx, err); ended != nil {
				return ended
			}
			g.add(decideMessages(size, err))
			return nil
		}
	}
	g.add(decideMessages(largeMessage, nil))
	return nil
}

func decideUpgrade(o outcome) Fact {
	const name, sent, meaning = "websocket.upgrade", "Upgrade: websocket", "whether a connection can become a WebSocket"
	switch {
	case o.refusal != "":
		return refusedFact(name, sent, o.refusal, meaning)
	case o.status == http.StatusSwitchingProtocols:
		return newFact(name, yes, sent, sent, meaning)
	}
	return newFact(name, no, sent, "a request without Upgrade, or one of HTTP/1.0", meaning+"; the way does not pass the header on")
}

func decideSubprotocol(received string) Fact {
	const name, sent, meaning = "websocket.subprotocol", "pathcheck", "whether the sub-protocol of a WebSocket arrives"
	if received == sent {
		return detail(newFact(name, kept, sent, received, meaning))
	}
	return detail(newFact(name, dropped, sent, received, meaning))
}

func decideMessages(size int, err error) Fact {
	const name, meaning = "websocket.messages", "whether messages come back as they were sent, short and long ones"
	sent := "messages of up to " + sizeText(size)
	if err == nil {
		return newFact(name, kept, sent, sent, meaning)
	}
	return newFact(name, "lost at "+sizeText(size), sent, "no such message: "+refusalOf(err), meaning)
}

func sizeText(bytes int) string { return size(bytes) + "B" }

// exchangeMessage sends a text and reads it back (RFC 6455, 5.2).
func (s *stream) exchangeMessage(data []byte) error {
	if err := s.send(clientFrame(data)); err != nil {
		return err
	}
	received, err := readText(s.reader, len(data))
	if err == nil && !bytes.Equal(received, data) {
		return errors.New("another message")
	}
	return err
}

// readText reads a text of at most the given length, of as many frames as the way made of it, and skips pings.
func readText(r io.Reader, length int) (text []byte, err error) {
	const maxFrames = 1000
	for range maxFrames {
		final, opcode, data, err := readFrame(r, max(length-len(text), maxControl))
		switch {
		case err != nil:
			return nil, err
		case opcode == opcodePing || opcode == opcodePong:
			continue
		case len(text) == 0 && opcode != opcodeText, len(text) > 0 && opcode != opcodeContinuation, len(text)+len(data) > length:
			return nil, errors.New("another message")
		}
		if text = append(text, data...); final {
			return text, nil
		}
	}
	return nil, errors.New("the message has too many frames")
}

// What frames have (RFC 6455, 5.2): the bit of the last one of a message, the type, and the maximum length of those that are no messages.
const (
	finalBit           = 0x80
	opcodeContinuation = 0
	opcodeText         = 1
	opcodePing         = 9
	opcodePong         = 10
	maxControl         = 125
)

// clientFrame returns the only frame of a text, masked as those of clients must be.
func clientFrame(data []byte) []byte {
	const masked = 0x80
	frame := []byte{finalBit | opcodeText}
	switch {
	case len(data) < 126:
		frame = append(frame, masked|byte(len(data)))
	case len(data) < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, masked|126), uint16(len(data)))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, masked|127), uint64(len(data)))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:]) // never fails
	frame = append(frame, mask[:]...)
	for i, each := range data {
		frame = append(frame, each^mask[i%4])
	}
	return frame
}

// readFrame reads a frame of a server with at most the given length.
func readFrame(r io.Reader, length int) (final bool, opcode byte, data []byte, err error) {
	var header [2]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return false, 0, nil, err
	}
	size := uint64(header[1] & 0x7f)
	if extended := map[uint64]int{126: 2, 127: 8}[size]; extended > 0 {
		var bytes [8]byte
		if _, err := io.ReadFull(r, bytes[8-extended:]); err != nil {
			return false, 0, nil, err
		}
		size = binary.BigEndian.Uint64(bytes[:])
	}
	if size > uint64(length) {
		return false, 0, nil, errors.New("the message is longer than what was sent")
	}
	data = make([]byte, size)
	_, err = io.ReadFull(r, data)
	return header[0]&finalBit != 0, header[0] & 0x7f, data, err // an opcode with a reserved bit is none of those above
}
