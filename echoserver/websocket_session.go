package main

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"
)

// webSocketSession echoes the messages of a WebSocket. One goroutine reads and writes; another one ends that if the server stops.
type webSocketSession struct {
	connection net.Conn
	reader     *bufio.Reader   // of the connection
	ending     <-chan struct{} // closed when the server stops
	frame      webSocketFrame  // the current one
	message    webSocketMessage
	begun      time.Time // when the frame or message that is being read began; zero if there is none

	mutex          sync.Mutex
	deadlinesFixed bool // the session ends, and reading and writing do not set deadlines any more
}

func newWebSocketSession(connection net.Conn, reader *bufio.Reader, ending <-chan struct{}, memory messageMemory) *webSocketSession {
	return &webSocketSession{connection: connection, reader: reader, ending: ending, message: webSocketMessage{memory: memory}}
}

// run sends the response to the handshake, returns messages until the WebSocket ends, and closes the connection. It returns the close
// frame that was sent, nil if the connection was lost.
func (s *webSocketSession) run(response []byte) *webSocketClose {
	defer func() { _ = s.connection.Close() }() // nothing is left to be sent
	defer s.message.drop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-s.ending:
			s.interrupt()
		case <-done:
		}
	}()
	err := s.write(response)
	for err == nil {
		err = s.handleFrame()
	}
	closing, ok := errors.AsType[*webSocketClose](err)
	if ok {
		s.close(closing)
	}
	return closing
}

// handleFrame reads a frame, and responds to the control frame or to the message that it completes.
func (s *webSocketSession) handleFrame() error {
	if err := s.nextFrame(); err != nil {
		return err
	}
	if err := s.frame.check(s.message.sizeSoFar()); err != nil {
		return err
	}
	if s.frame.isControl() {
		return s.control()
	}
	s.message.begin(&s.frame)
	if err := s.readPayload(); err != nil || !s.frame.final {
		return err
	}
	return s.echo()
}

// nextFrame reads the header of the next frame. It consumes nothing if the header does not arrive completely.
func (s *webSocketSession) nextFrame() error {
	if _, err := s.peek(1); err != nil {
		return err
	}
	if s.begun.IsZero() {
		s.begun = time.Now()
	}
	start, err := s.peek(2)
	if err != nil {
		return err
	}
	header, err := s.peek(frameHeaderSize(start[1]))
	if err != nil {
		return err
	}
	s.frame = parseFrame(header)
	_, err = s.reader.Discard(len(header))
	return err
}

// control reads the payload of a control frame and responds to it.
func (s *webSocketSession) control() error {
	payload := make([]byte, s.frame.left)
	for read := 0; read < len(payload); {
		n, err := s.read(payload[read:])
		if err != nil {
			return err
		}
		read += n
	}
	if !s.message.begun {
		s.begun = time.Time{}
	}
	switch s.frame.opcode {
	case opcodeClose:
		return responseToClose(payload)
	case opcodePing:
		return s.writeControl(opcodePong, payload)
	}
	return nil // a pong that the server did not ask for
}

// readPayload adds the payload of the frame to the message.
func (s *webSocketSession) readPayload() error {
	for s.frame.left > 0 {
		space, err := s.message.space(&s.frame)
		if err != nil {
			return err
		}
		n, err := s.read(space)
		if err != nil {
			return err
		}
		if err := s.message.add(space[:n]); err != nil {
			return err
		}
	}
	if s.frame.final {
		return s.message.complete()
	}
	return nil
}

// echo sends the message back.
func (s *webSocketSession) echo() error {
	s.begun = time.Time{}
	defer s.message.drop()
	return s.write(s.message.frame()...)
}

// peek returns the next n bytes without consuming them.
func (s *webSocketSession) peek(n int) ([]byte, error) {
	if err := s.expectData(n); err != nil {
		return nil, err
	}
	data, err := s.reader.Peek(n)
	return data, s.readError(err)
}

// read reads some of the payload of the frame.
func (s *webSocketSession) read(target []byte) (int, error) {
	if err := s.expectData(1); err != nil {
		return 0, err
	}
	n, err := s.reader.Read(target)
	s.frame.left -= int64(n)
	s.frame.key = unmask(target[:n], s.frame.key)
	if n > 0 {
		return n, nil // an error comes again
	}
	return 0, s.readError(err)
}

func (s *webSocketSession) writeControl(opcode byte, payload []byte) error {
	return s.write(append(appendFrameHeader(make([]byte, 0, 2+maxControl), opcode, len(payload)), payload...))
}

func (s *webSocketSession) write(parts ...[]byte) error {
	if err := s.setDeadline(s.connection.SetWriteDeadline, time.Now().Add(stallTimeout)); err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := s.connection.Write(part); err != nil {
			return err
		}
	}
	return nil
}
