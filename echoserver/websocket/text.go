package websocket

import (
	"errors"
	"io"
	"unicode/utf8"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

var errNotUTF8 = errors.New("a text message must be UTF-8")

// utf8Reader fails as soon as the text can no longer be valid UTF-8 (RFC 6455, 8.1).
type utf8Reader struct {
	reader io.Reader
	text   utf8Stream
}

// Read implements io.Reader.
func (r *utf8Reader) Read(p []byte) (int, error) {
	n, err := r.reader.Read(p)
	ended := errors.Is(err, io.EOF)
	if err != nil && !ended {
		return n, err // the library leaves the data masked after an error
	}
	if !r.text.add(p[:n]) || ended && !r.text.complete() {
		return 0, errNotUTF8
	}
	return n, err
}

// utf8Stream checks text that arrives in parts.
type utf8Stream struct {
	partial [utf8.UTFMax]byte // the beginning of a character that the last part did not complete
	size    int
}

// add adds a part, and reports whether the text can still be valid UTF-8.
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
	whole := exchange.WithoutPartialRune(part)
	s.size = copy(s.partial[:], part[len(whole):])
	return utf8.Valid(whole)
}

// complete reports whether the last character is complete.
func (s *utf8Stream) complete() bool { return s.size == 0 }
