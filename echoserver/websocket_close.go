package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// The codes of close frames that the server sends of its own accord (RFC 6455, 7.4.1).
const (
	closeGoingAway     = 1001
	closeProtocolError = 1002
	closeInvalidData   = 1007
	closePolicy        = 1008
	closeTooBig        = 1009
	closeTryAgainLater = 1013
)

// webSocketClose is the close frame that ends a WebSocket.
type webSocketClose struct {
	code     uint16 // 0 for a frame without code
	reason   string
	received bool // the client closes, and the frame is the response
}

// Error implements error.
func (c *webSocketClose) Error() string {
	return fmt.Sprintf("the WebSocket is closed with %d, %s", c.code, c.reason)
}

func violation(reason string) error {
	return &webSocketClose{code: closeProtocolError, reason: reason}
}

func notUTF8(what string) error {
	return &webSocketClose{code: closeInvalidData, reason: what + " must be UTF-8"}
}

// payload returns the payload of the close frame.
func (c *webSocketClose) payload() []byte {
	if c.code == 0 {
		return nil
	}
	return append(binary.BigEndian.AppendUint16(nil, c.code), c.reason...)
}

// responseToClose returns the response to a client's close frame: the same code and reason, if they are valid.
func responseToClose(payload []byte) *webSocketClose {
	if len(payload) == 0 {
		return &webSocketClose{received: true}
	}
	if len(payload) == 1 {
		return &webSocketClose{code: closeProtocolError, reason: "a close frame must have a whole code", received: true}
	}
	code, reason := binary.BigEndian.Uint16(payload), payload[2:]
	switch {
	case !isCloseCode(code):
		return &webSocketClose{code: closeProtocolError, reason: fmt.Sprintf("%d is not a code for close frames", code), received: true}
	case !utf8.Valid(reason):
		return &webSocketClose{code: closeInvalidData, reason: "the reason of a close frame must be UTF-8", received: true}
	}
	return &webSocketClose{code: code, reason: string(reason), received: true}
}

// isCloseCode returns whether a client may send a code: one that IANA has registered, but for those that mean that no close frame was
// sent, or one that libraries and applications may use (RFC 6455, 7.4.2).
func isCloseCode(code uint16) bool {
	switch {
	case code == 1004 || code == 1005 || code == 1006:
		return false
	case code >= 1000 && code <= 1014:
		return true
	}
	return code >= 3000 && code <= 4999
}

// close sends the close frame. Then it waits until the client has closed: what the client sends to a connection that is closed would
// reset it, and the client might not receive the frame (RFC 6455, 7.1.1).
func (s *webSocketSession) close(c *webSocketClose) {
	s.message.drop()
	if s.fixDeadlines(closeTimeout) != nil || s.writeControl(opcodeClose, c.payload()) != nil {
		return
	}
	if !c.received {
		s.skipToClose()
	}
	if half, ok := s.connection.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, s.reader) // the connection is closed afterwards
	}
}

// skipToClose skips what the client sends up to its close frame.
func (s *webSocketSession) skipToClose() {
	for {
		if _, err := s.reader.Discard(int(s.frame.left)); err != nil {
			return
		}
		if s.nextFrame() != nil || s.frame.opcode == opcodeClose {
			return
		}
	}
}
