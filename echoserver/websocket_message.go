package main

import "unicode/utf8"

const (
	// maxMessage is the maximum size of a WebSocket message, in bytes.
	maxMessage = 1 << 20
	// firstChunk and maxChunk are the sizes of the first and of the largest chunk of a message. Each is twice as large as the one before.
	firstChunk = 4 << 10
	maxChunk   = 64 << 10
)

// messageMemory accounts for what messages hold. grow returns whether n more bytes may be held.
type messageMemory struct {
	grow    func(n int64) bool
	release func(n int64)
}

// webSocketMessage is a message that is being received. It holds little more than what has been received of it, in chunks, because a
// client can announce more than it sends. In front of the first chunk there is room for the header of the frame that returns the message.
type webSocketMessage struct {
	memory messageMemory
	begun  bool
	opcode byte
	size   int
	chunks [][]byte
	held   int64
	text   utf8Stream
}

// sizeSoFar returns the size, negative if no message has begun.
func (m *webSocketMessage) sizeSoFar() int {
	if !m.begun {
		return -1
	}
	return m.size
}

// begin begins with the first frame of a message; frames that continue it change nothing.
func (m *webSocketMessage) begin(f *webSocketFrame) {
	if !m.begun {
		m.begun, m.opcode = true, f.opcode
	}
}

// space returns where to store the next bytes of a frame, at most as many as are left of it.
func (m *webSocketMessage) space(f *webSocketFrame) ([]byte, error) {
	last := len(m.chunks) - 1
	if last < 0 || len(m.chunks[last]) == cap(m.chunks[last]) {
		size := m.nextChunk(f)
		if !m.memory.grow(int64(size)) {
			return nil, &webSocketClose{code: closeTryAgainLater, reason: "the server holds too much already, try again later"}
		}
		m.held += int64(size)
		chunk := make([]byte, 0, size)
		if last < 0 {
			chunk = chunk[:maxServerHeader]
		}
		m.chunks = append(m.chunks, chunk)
		last++
	}
	chunk := m.chunks[last]
	free := chunk[len(chunk):cap(chunk)]
	return free[:min(int64(len(free)), f.left)], nil
}

// nextChunk returns the size of the next chunk. Only the last frame of a message tells how much is still to come.
func (m *webSocketMessage) nextChunk(f *webSocketFrame) int {
	missing := maxMessage - m.size
	if f.final {
		missing = int(f.left)
	}
	if len(m.chunks) == 0 {
		return min(firstChunk, maxServerHeader+missing)
	}
	return min(2*cap(m.chunks[len(m.chunks)-1]), maxChunk, missing)
}

// add adds the bytes that have been stored in space. Text must be UTF-8, as far as it has been received.
func (m *webSocketMessage) add(part []byte) error {
	last := len(m.chunks) - 1
	m.chunks[last] = m.chunks[last][:len(m.chunks[last])+len(part)]
	m.size += len(part)
	if m.opcode == opcodeText && !m.text.add(part) {
		return notUTF8("a text message")
	}
	return nil
}

// complete checks the end of the message.
func (m *webSocketMessage) complete() error {
	if m.opcode == opcodeText && !m.text.complete() {
		return notUTF8("a text message")
	}
	return nil
}

// frame returns the frame that returns the message, in parts.
func (m *webSocketMessage) frame() [][]byte {
	var header [maxServerHeader]byte
	written := appendFrameHeader(header[:0], m.opcode, m.size)
	if len(m.chunks) == 0 {
		return [][]byte{written}
	}
	m.chunks[0] = m.chunks[0][maxServerHeader-len(written):]
	copy(m.chunks[0], written)
	return m.chunks
}

// drop ends the message and releases its memory.
func (m *webSocketMessage) drop() {
	if m.held > 0 {
		m.memory.release(m.held)
	}
	*m = webSocketMessage{memory: m.memory}
}

// utf8Stream checks text that arrives in parts.
type utf8Stream struct {
	partial [utf8.UTFMax]byte // the beginning of a character that a part ended in
	size    int
}

// add returns whether the text can still be UTF-8 with another part.
func (s *utf8Stream) add(part []byte) bool {
	for s.size > 0 && len(part) > 0 {
		s.partial[s.size] = part[0]
		s.size++
		part = part[1:]
		if begun := s.partial[:s.size]; utf8.FullRune(begun) {
			if !utf8.Valid(begun) {
				return false
			}
			s.size = 0
		}
	}
	if len(part) == 0 {
		return true
	}
	whole := withoutPartialRune(part)
	s.size = copy(s.partial[:], part[len(whole):])
	return utf8.Valid(whole)
}

// complete returns whether the text does not end within a character.
func (s *utf8Stream) complete() bool { return s.size == 0 }
