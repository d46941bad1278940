package websocket

import (
	"context"
	"errors"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// session echoes the messages of a WebSocket. One goroutine reads and writes. Timers, and the server when it stops, close the WebSocket
// from other goroutines.
type session struct {
	exchange   *exchange.Exchange
	socket     *websocket.Conn
	connection *sessionConnection
	first      *message // sent before any message is received, unless it is nil
}

// run echoes messages until the WebSocket is closed. It returns the limit that caused the close, or "" if no limit did.
func (s *session) run(ending <-chan struct{}) (limit string) {
	s.connection.startTimers(
		func() {
			s.close(websocket.StatusGoingAway, "nothing was received for "+connection.IdleTimeout.String())
		},
		func() { s.close(websocket.StatusPolicyViolation, "the message was not received in time") })
	defer s.connection.stopTimers()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ending:
			s.close(websocket.StatusGoingAway, "the server is stopping")
		case <-done:
		}
	}()
	err := s.sendFirst()
	for err == nil {
		err = s.echo()
	}
	code, reason, limit := closeFor(err)
	if s.connection.end() {
		s.connection.failed.Store(true)
	}
	s.close(code, reason)
	return limit
}

func (s *session) sendFirst() error {
	if s.first == nil {
		return nil
	}
	err := s.send(websocket.MessageText, s.first.chunks)
	s.first.release()
	s.first = nil // frees the message, which can be large
	return err
}

// echo receives a message and sends it back.
func (s *session) echo() error {
	kind, reader, err := s.socket.Reader(context.Background())
	if err != nil {
		return err
	}
	s.connection.message.Reset(messageTimeout)
	if kind == websocket.MessageText {
		reader = &utf8Reader{reader: reader}
	}
	m := message{exchange: s.exchange}
	defer m.release()
	if err := m.receive(reader); err != nil {
		return err
	}
	s.connection.messageReceived()
	return s.send(kind, m.chunks)
}

// send sends a message as one frame per chunk (RFC 6455, 5.4).
func (s *session) send(kind websocket.MessageType, chunks [][]byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), exchange.StallTimeout)
	defer cancel()
	if len(chunks) == 1 {
		return s.socket.Write(ctx, kind, chunks[0])
	}
	writer, err := s.socket.Writer(ctx, kind)
	if err != nil {
		return err
	}
	for _, chunk := range chunks {
		if _, err := writer.Write(chunk); err != nil {
			return err
		}
	}
	return writer.Close()
}

// close sends a close frame, and waits until the WebSocket is closed. Only the first call has an effect.
func (s *session) close(code websocket.StatusCode, reason string) {
	s.connection.end() // because the library waits for some events without a time limit
	_ = s.socket.Close(code, reason)
}

// closeFor returns the close code and the reason for an error on a WebSocket, and the limit that was reached, if any. The code and the
// reason have no effect if the library has already sent a close frame, as it does for most invalid frames.
func closeFor(err error) (code websocket.StatusCode, reason, limit string) {
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		return websocket.StatusMessageTooBig, "", LimitMessage
	case errors.Is(err, errMessageMemory):
		return websocket.StatusTryAgainLater, err.Error(), connection.LimitMemory
	case errors.Is(err, errNotUTF8):
		return websocket.StatusInvalidFramePayloadData, err.Error(), ""
	}
	return websocket.StatusProtocolError, "the frame is not valid", ""
}
