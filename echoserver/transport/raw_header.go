package transport

import (
	"bytes"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// readerSize is the size, in bytes, of the buffer into which net/http reads from a connection.
const readerSize = 4096

// preface is the part of the HTTP/2 connection preface (RFC 9113, 3.4) that looks like a header.
const preface = "PRI * HTTP/2.0\r\n\r\n"

// rawHeader is the header of an HTTP/1 request as it was sent. net/http does not preserve the case or the order of the field names.
type rawHeader struct {
	data        []byte // up to the empty line
	requestLine int    // length, in bytes
	lines       int    // number of complete lines
	line        int    // length of the incomplete line
	ended       bool   // the empty line was read
	ahead       []byte // the byte of the next header, if any, that net/http read while a handler ran
	isLater     bool   // an earlier header was read on the connection; with it, net/http may have read the beginning of this one
}

// restart prepares for the next header on the connection.
func (h *rawHeader) restart() {
	data, ahead := h.data[:0], h.ahead
	if cap(data) > IncludedHeader { // the cost of an idle connection does not cover a buffer of this size
		data = nil
	}
	*h = rawHeader{data: data, isLater: true}
	h.add(ahead)
}

// isRead reports whether any part of a header has been read, now or earlier on this connection.
func (h *rawHeader) isRead() bool { return h.isLater || len(h.data) > 0 }

// add adds a piece, but not the data that follows the header: a body, another request, or HTTP/2.
func (h *rawHeader) add(piece []byte) {
	for line := range bytes.Lines(piece) {
		if h.ended {
			return
		}
		h.data = append(h.data, line...)
		length := len(bytes.TrimRight(line, "\r\n"))
		h.line += length
		if h.lines == 0 {
			h.requestLine += length
		}
		if line[len(line)-1] != '\n' {
			return
		}
		if h.line > 0 || h.lines > 0 { // net/http skips some empty lines before a request
			h.ended = h.line == 0
			h.lines++
		}
		h.line = 0
	}
}

// isPreface reports whether the header is the beginning of an HTTP/2 connection.
func (h *rawHeader) isPreface() bool {
	return h.ended && !h.isLater && string(h.data) == preface
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

// size returns the size of the part of the header that has been read.
func (h *rawHeader) size() HeaderSize {
	// Fields does not count the request line, Host, or the empty line.
	return HeaderSize{Bytes: int64(len(h.data)), requestLine: int64(h.requestLine), Fields: max(0, h.lines-3)}
}

// certainSize is like size, but does not count what may belong to a body: all values are lower bounds.
func (h *rawHeader) certainSize() HeaderSize {
	if h.isLater {
		return HeaderSize{Bytes: int64(max(0, len(h.data)-readerSize))}
	}
	return h.size()
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
