package main

import (
	"errors"
	"os"
	"time"
)

const (
	// messageTimeout is how long a client may take to send a message.
	messageTimeout = 2 * time.Minute
	// closeTimeout is how long the server waits for a client to close a WebSocket, and for what is being sent when the server stops.
	closeTimeout = 5 * time.Second
)

// expectData sets the deadline to receive n bytes, if they have not been received yet.
func (s *webSocketSession) expectData(n int) error {
	if s.reader.Buffered() >= n {
		return nil
	}
	now := time.Now()
	deadline := now.Add(idleTimeout)
	if !s.begun.IsZero() {
		deadline = now.Add(stallTimeout)
		if end := s.begun.Add(messageTimeout); end.Before(deadline) {
			deadline = end
		}
	}
	return s.setDeadline(s.connection.SetReadDeadline, deadline)
}

// readError returns what to do about an error of reading: tell the client why, if it took too long.
func (s *webSocketSession) readError(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	select {
	case <-s.ending:
		return &webSocketClose{code: closeGoingAway, reason: "the server is stopping"}
	default:
	}
	if s.begun.IsZero() {
		return &webSocketClose{code: closeGoingAway, reason: "nothing was received for " + idleTimeout.String()}
	}
	return &webSocketClose{code: closePolicy, reason: "the message was not received in time"}
}

// setDeadline sets a deadline, unless they are fixed.
func (s *webSocketSession) setDeadline(set func(time.Time) error, deadline time.Time) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.deadlinesFixed {
		return nil
	}
	return set(deadline)
}

// fixDeadlines lets reading and writing end after a time.
func (s *webSocketSession) fixDeadlines(after time.Duration) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.deadlinesFixed = true
	return s.connection.SetDeadline(time.Now().Add(after))
}

// interrupt lets reading end at once and writing soon, unless the session ends already.
func (s *webSocketSession) interrupt() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.deadlinesFixed {
		return
	}
	s.deadlinesFixed = true
	now := time.Now()
	_ = s.connection.SetReadDeadline(now) // if it fails, so does reading
	_ = s.connection.SetWriteDeadline(now.Add(closeTimeout))
}
