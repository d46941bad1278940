package connection

import (
	"bytes"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	// maxEmptyLines is the maximum length, in bytes, of the line breaks that are skipped before a request line. net/http skips the same
	// number of bytes after a POST.
	maxEmptyLines = 4
	// readerSize is the size, in bytes, of the buffer into which net/http reads from a connection.
	readerSize = 4096
)

// preface is the part of the HTTP/2 connection preface (RFC 9113, 3.4) that looks like a header.
const preface = "PRI * HTTP/2.0\r\n\r\n"

// rawHeader is the header of an HTTP/1 request as it was sent. net/http does not preserve the case or the order of the field names.
type rawHeader struct {
	data        []byte // up to the empty line
	requestLine int    // length, in bytes
	lines       int    // number of complete lines
	ended       bool   // the empty line was read

	line       int    // length of the incomplete line
	emptyLines []byte // the line breaks that were skipped before the request line
	begun      bool   // whether an earlier header was read on the connection
	isPartial  bool   // the beginning may be empty lines, or may have been read together with the previous request
	deadlines  int    // the number of deadlines set since the previous request
	after      int    // the number of bytes after the apparent end of a partial header

	ahead    byte // the first byte of the next header, which net/http reads while a handler runs
	hasAhead bool
	held     byte // a line break that is held back from net/http, because it may be an empty line
	isHeld   bool
}

// restart prepares for the next header on the connection.
func (h *rawHeader) restart() {
	ahead, hasAhead, data := h.ahead, h.hasAhead, h.data[:0]
	if cap(data) > IncludedHeader { // the cost of an idle connection does not cover a buffer of this size
		data = nil
	}
	*h = rawHeader{data: data, begun: true, isPartial: true, held: h.held, isHeld: h.isHeld}
	if hasAhead {
		h.add([]byte{ahead})
	}
}

// locate sets isPartial. It is called before each piece is read; space is the number of free bytes in net/http's buffer. While net/http
// waits for a header, it has set only one deadline. If net/http's buffer then contains more than the byte that was read ahead, the buffer
// contains the beginning of the header.
func (h *rawHeader) locate(space int) {
	if h.begun && len(h.data) <= 1 && len(h.emptyLines) == 0 {
		h.isPartial = h.deadlines != 1 || space+len(h.data) != readerSize
	}
}

// skipEmptyLines returns how many bytes of the first piece to skip (RFC 9112, 2.2).
func (h *rawHeader) skipEmptyLines(piece []byte) (skipped int) {
	if len(h.data) > 0 || h.isPartial {
		return 0
	}
	for skipped < len(piece) && len(h.emptyLines) < maxEmptyLines && isLineEnd(piece[skipped]) {
		h.emptyLines = append(h.emptyLines, piece[skipped])
		skipped++
	}
	if h.begun && skipped < len(piece) && isLineEnd(piece[skipped]) { // net/http may skip more line breaks
		h.isPartial = true
	}
	return skipped
}

func isLineEnd(b byte) bool { return b == '\r' || b == '\n' }

// lookAhead receives the byte that follows a request, and returns how many bytes to pass to net/http. It holds back a line break until
// locate determines whether the line break comes before or within a header.
func (h *rawHeader) lookAhead(next byte) int {
	if isLineEnd(next) {
		h.held, h.isHeld = next, true
		return 0
	}
	h.ahead, h.hasAhead = next, true
	return 1
}

// isRead reports whether any part of a header has been read, now or earlier on this connection.
func (h *rawHeader) isRead() bool { return h.begun || len(h.data)+len(h.emptyLines) > 0 }

// add adds a piece, and returns the data that follows the header: a body, another request, or HTTP/2.
func (h *rawHeader) add(piece []byte) (rest []byte) {
	for len(piece) > 0 && !h.ended {
		part := piece
		end := bytes.IndexByte(piece, '\n') + 1
		if end > 0 {
			part = piece[:end]
		}
		h.addPart(part, end > 0)
		piece = piece[len(part):]
	}
	if h.isPartial { // the apparent end may be an empty line before the request line
		h.after += len(piece)
	}
	return piece
}

func (h *rawHeader) addPart(part []byte, isEnd bool) {
	h.data = append(h.data, part...)
	length := len(bytes.TrimRight(part, "\r\n"))
	h.line += length
	if h.lines == 0 {
		h.requestLine += length
	}
	if isEnd {
		h.ended = h.line == 0 && h.lines > 0
		h.lines++
		h.line = 0
	}
}

// isPreface reports whether the header is the beginning of an HTTP/2 connection.
func (h *rawHeader) isPreface() bool {
	return h.ended && !h.begun && string(h.data) == preface
}

// isOf reports whether this is the complete header of the given request. If a client sends requests without waiting for responses, net/http
// can read more than one header at once.
func (h *rawHeader) isOf(r *http.Request) bool {
	if !h.ended {
		return false
	}
	rest, ok := bytes.CutPrefix(h.data, []byte(r.Method))
	if ok {
		rest, ok = bytes.CutPrefix(rest, []byte(" "+r.RequestURI+" HTTP/1."))
	}
	return ok && len(rest) > 1 && (rest[1] == '\r' || rest[1] == '\n')
}

// names returns the field names in their original order and case.
func (h *rawHeader) names() []string {
	_, fields, _ := strings.Cut(string(h.data), "\n")
	names := make([]string, 0, max(0, h.lines-2))
	for len(fields) > 0 {
		line, rest, _ := strings.Cut(fields, "\n")
		if name, _, ok := strings.Cut(line, ":"); ok {
			names = append(names, name)
		}
		fields = rest
	}
	return names
}

// size returns the size of the part of the header that has been read. If the beginning of the header is unknown, the length of the request
// line and the number of fields are 0.
func (h *rawHeader) size() HeaderSize {
	// Fields does not count the request line, Host, or the empty line.
	s := HeaderSize{Bytes: int64(len(h.data)), requestLine: int64(h.requestLine), Fields: max(0, h.lines-3)}
	if h.isPartial { // the last read may contain the beginning of a body, whose lines are not fields
		s.requestLine, s.Fields = 0, 0
		s.Bytes += int64(max(0, h.after-readerSize))
	}
	return s
}

// longestField returns the name of the longest field, truncated to maxLoggedField. The name of the last field may be incomplete. The result
// is empty if the longest line continues a value from the line before it, because the value may be a secret.
func (h *rawHeader) longestField() string {
	var longest []byte
	_, fields, _ := bytes.Cut(h.data, []byte("\n"))
	for line := range bytes.Lines(fields) {
		if len(line) > len(longest) {
			longest = line
		}
	}
	name, _, _ := bytes.Cut(longest, []byte(":"))
	if !httpguts.ValidHeaderFieldName(string(name)) {
		return ""
	}
	return string(name[:min(len(name), maxLoggedField)])
}
