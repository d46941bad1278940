package websocket

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

// session echoes a WebSocket's messages. One goroutine reads and writes. Timers and a stopping server close it from other goroutines.
type session struct {
	exchange   *exchange.Exchange
	socket     *websocket.Conn
	connection *sessionConnection
	first      *message // sent before any message is received, unless it is nil
}

// run echoes messages until the WebSocket is closed. It returns the limit that caused the close, or "" if no limit did.
func (s *session) run(ending <-chan struct{}) (limit string) {
	c := s.connection
	idle := func() { s.close(websocket.StatusGoingAway, "nothing was received for "+transport.IdleTimeout.String()) }
	late := func() { s.close(websocket.StatusPolicyViolation, "the message was not received in time") }
	c.idle, c.stall = time.AfterFunc(transport.IdleTimeout, idle), time.AfterFunc(exchange.StallTimeout, late)
	c.message = time.AfterFunc(messageTimeout, late)
	defer func() {
		c.idle.Stop()
		c.stall.Stop()
		c.message.Stop()
	}()
	c.messageReceived()
	if c.early {
		c.partReceived()
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ending:
			s.close(websocket.StatusGoingAway, "the server is stopping")
		case <-done:
		}
	}()
	var err error
	if s.first != nil {
		err = s.send(websocket.MessageText, s.first.chunks)
		s.first.release()
		s.first = nil // frees the message, which can be large
	}
	for err == nil {
		err = s.echo()
	}
	code, reason, limit := closeFor(err)
	if c.end() {
		c.failed.Store(true)
	}
	s.close(code, reason)
	return limit
}

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
	case errors.Is(err, exchange.ErrOverBudget):
		return websocket.StatusTryAgainLater, err.Error(), transport.LimitMemory
	case errors.Is(err, errNotUTF8):
		return websocket.StatusInvalidFramePayloadData, err.Error(), ""
	}
	return websocket.StatusProtocolError, "the frame is not valid", ""
}

const (
	// LimitMessage is the reason that metrics report for a message that is too long.
	LimitMessage = "websocket_message"
	// maxMessage is the maximum size, in bytes, of a WebSocket message.
	maxMessage = 1 << 20
	// firstChunk is the size of a message's first chunk. Each chunk is twice as large as the previous one, up to maxChunk.
	firstChunk = 4 << 10
	maxChunk   = 64 << 10
)

// message consists of chunks, so that it uses little more memory than the data received so far: a client can announce more than it sends.
type message struct {
	exchange *exchange.Exchange // reserves and releases the memory
	chunks   [][]byte           // at least one if the message is complete
	reserved int64
}

func (m *message) receive(reader io.Reader) error {
	for size := firstChunk; ; size = min(2*size, maxChunk) {
		if !m.exchange.Acquire(int64(size)) {
			return exchange.ErrOverBudget
		}
		m.reserved += int64(size)
		chunk := make([]byte, size)
		n, err := io.ReadFull(reader, chunk)
		if n > 0 || len(m.chunks) == 0 {
			m.chunks = append(m.chunks, chunk[:n])
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (m *message) release() { m.exchange.Release(m.reserved) }

var errNotUTF8 = errors.New("a text message must be UTF-8")

// utf8Reader fails as soon as the text can no longer be valid UTF-8 (RFC 6455, 8.1).
type utf8Reader struct {
	reader  io.Reader
	partial [utf8.UTFMax]byte // the beginning of a character that the last part did not complete
	size    int               // of partial
}

// Read implements io.Reader.
func (r *utf8Reader) Read(p []byte) (int, error) {
	n, err := r.reader.Read(p)
	ended := errors.Is(err, io.EOF)
	if err != nil && !ended {
		return n, err // the library leaves the data masked after an error
	}
	if !r.add(p[:n]) || ended && r.size > 0 {
		return 0, errNotUTF8
	}
	return n, err
}

// add adds a part of the text, and reports whether the text can still be valid UTF-8.
func (r *utf8Reader) add(part []byte) bool {
	for r.size > 0 && len(part) > 0 {
		r.partial[r.size] = part[0]
		r.size++
		part = part[1:]
		if begun := r.partial[:r.size]; utf8.FullRune(begun) {
			if !utf8.Valid(begun) {
				return false
			}
			r.size = 0
		}
	}
	if len(part) == 0 {
		return true
	}
	whole := exchange.WithoutPartialRune(part)
	r.size = copy(r.partial[:], part[len(whole):])
	return utf8.Valid(whole)
}

const (
	// messageTimeout is the time limit for receiving a message.
	messageTimeout = 2 * time.Minute
	// closeTimeout is how long the server waits for a client to close a WebSocket, and for data in transit when the server stops.
	closeTimeout = 5 * time.Second
)

// sessionConnection is the connection of a WebSocket. Its timers close the WebSocket if the client takes too long.
type sessionConnection struct {
	*transport.Connection
	idle    *time.Timer // runs for IdleTimeout while no frame is in progress
	stall   *time.Timer // restarts whenever part of a frame is received
	message *time.Timer // runs from the first frame of a message to the last
	early   bool        // whether part of a frame was received before the connection was hijacked
	failed  atomic.Bool // whether to discard further data from the client (RFC 6455, 7.1.7)
	ends    sync.Once
}

// messageReceived must be called at the start and after each received message.
func (c *sessionConnection) messageReceived() {
	c.message.Stop()
	c.awaitFrame()
}

// awaitFrame must be called after each received frame. The connection counts as idle even if part of the next frame has arrived. In the
// middle of a message, the timer for the message keeps running.
func (c *sessionConnection) awaitFrame() {
	c.stall.Stop()
	c.idle.Reset(transport.IdleTimeout)
}

// partReceived must be called when part of a frame has been received.
func (c *sessionConnection) partReceived() {
	c.idle.Stop()
	c.stall.Reset(exchange.StallTimeout)
}

func (c *sessionConnection) Read(p []byte) (int, error) {
	if c.failed.Load() {
		return 0, net.ErrClosed
	}
	n, err := c.Connection.Read(p)
	if n > 0 {
		c.partReceived()
	}
	if err != nil {
		err = net.ErrClosed // the library would mistake io.EOF for the end of a message
	}
	return n, err
}

// end makes reads and writes fail after closeTimeout. The first call returns true. Later calls have no effect, and return false.
func (c *sessionConnection) end() (first bool) {
	c.ends.Do(func() {
		first = true
		_ = c.SetDeadline(time.Now().Add(closeTimeout)) // if this fails, so do reading and writing
	})
	return first
}

// Close implements net.Conn. It waits until the client has closed the connection. If the server closed first, data from the client would
// cause a reset, and the client might not receive the close frame (RFC 6455, 7.1.1).
func (c *sessionConnection) Close() error {
	c.end()
	if c.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, c.Conn) // the connection is closed next
	}
	return c.Connection.Close()
}
