package websocket

import (
	"errors"
	"io"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

const (
	// LimitMessage is the reason why a message is rejected that is too long.
	LimitMessage = "websocket_message"
	// maxMessage is the maximum size of a WebSocket message, in bytes.
	maxMessage = 1 << 20
	// firstChunk and maxChunk are the sizes of the first and of the largest chunk of a message. Each is twice as large as the one before.
	firstChunk = 4 << 10
	maxChunk   = 64 << 10
)

var errMessageMemory = errors.New("the server holds too much already, try again later")

// message is a message. It holds little more than what has been received of it, in chunks, because a client can announce
// more than it sends.
type message struct {
	exchange *exchange.Exchange // accounts for what is held
	chunks   [][]byte           // at least one, when the message is complete
	reserved int64
}

// receive reads the whole message.
func (m *message) receive(reader io.Reader) error {
	for size := firstChunk; ; size = min(2*size, maxChunk) {
		if !m.exchange.Acquire(int64(size)) {
			return errMessageMemory
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

// release releases the memory of the message.
func (m *message) release() { m.exchange.Release(m.reserved) }
