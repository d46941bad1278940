package websocket

import (
	"errors"
	"io"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

const (
	// LimitMessage is the reason that metrics report for a message that is too long.
	LimitMessage = "websocket_message"
	// maxMessage is the maximum size, in bytes, of a WebSocket message.
	maxMessage = 1 << 20
	// firstChunk is the size of a message's first chunk. Each chunk is twice as large as the previous one, up to maxChunk.
	firstChunk = 4 << 10
	maxChunk   = 64 << 10
)

var errMessageMemory = errors.New("the server has used up its memory budget; try again later")

// message consists of chunks, so that it uses little more memory than the data received so far: a client can announce more data than it
// sends.
type message struct {
	exchange *exchange.Exchange // reserves and releases the memory
	chunks   [][]byte           // at least one if the message is complete
	reserved int64
}

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

func (m *message) release() { m.exchange.Release(m.reserved) }
