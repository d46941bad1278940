package transport

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	// DefaultHeaderBytes is the default maximum size of a header, in bytes. Login cookies are often larger than 16 KiB.
	DefaultHeaderBytes = 32 << 10
	// leastHeaderBytes is the lower bound of the max-header-bytes setting.
	leastHeaderBytes = 8 << 10
	// MostHeaderBytes is the upper bound of the max-header-bytes setting.
	MostHeaderBytes = 64 << 10
	// DecoderFactor is the size of the largest header that net/http decodes, as a multiple of the maximum size. If an HTTP/2 header is
	// larger, net/http closes the connection and all its streams. If a header exceeds the maximum size but not this limit, the handler
	// rejects only that request.
	DecoderFactor = 4
	// MaxFields is the maximum number of fields in a header.
	MaxFields = 100
	// MaxRequestLine is the maximum length of a request's first line, in bytes.
	MaxRequestLine = 8 << 10
	// maxLoggedField is the maximum length, in bytes, of a field name in the log.
	maxLoggedField = 64
)

// HeaderSize is the size of a request's header in HTTP/1.1 format, even if it was sent over HTTP/2.
type HeaderSize struct {
	Bytes       int64 // including the request line
	requestLine int64 // without the line break
	Fields      int
}

// HeaderRejection describes why a request's header is rejected.
type HeaderRejection struct {
	Status int
	limit  int
	Reason string // for the client
}

func newHeaderRejection(status int, format string, limit int) *HeaderRejection {
	return &HeaderRejection{Status: status, limit: limit, Reason: fmt.Sprintf(format, limit)}
}

// CheckHeader returns nil if the size is within the limits.
func CheckHeader(size HeaderSize, maxHeaderBytes int) *HeaderRejection {
	switch {
	case size.requestLine > MaxRequestLine:
		return newHeaderRejection(http.StatusRequestURITooLong, "the request line is longer than %d bytes", MaxRequestLine)
	case size.Fields > MaxFields:
		return newHeaderRejection(http.StatusRequestHeaderFieldsTooLarge, "the header has more than %d fields", MaxFields)
	case size.Bytes > int64(maxHeaderBytes):
		return newHeaderRejection(http.StatusRequestHeaderFieldsTooLarge, "the header is larger than %d bytes", maxHeaderBytes)
	}
	return nil
}

// Log logs a rejection. Unless the request line is too long, the longest field is usually the cause.
func (r *HeaderRejection) Log(log *slog.Logger, peer, longestField string) {
	attributes := []any{"remote", peer, "status", r.Status, "reason", r.Reason, "limit", r.limit}
	if r.Status != http.StatusRequestURITooLong {
		attributes = append(attributes, "longestField", longestField)
	}
	log.Warn("header rejected", attributes...)
}

// MeasureHeader returns the size of a parsed header and the name of its longest field.
func MeasureHeader(r *http.Request) (size HeaderSize, longestField string) {
	size, longestField = FieldsSize(r.Header)
	size.requestLine = int64(len(r.Method) + len(r.RequestURI) + len("  HTTP/1.1"))
	size.Bytes += size.requestLine + int64(len("\r\nHost")+len(r.Host)+separators+len("\r\n"))
	return size, longestField
}

// separators is the length, in bytes, of the characters that follow a field's name and value in HTTP/1.1.
const separators = len(": \r\n")

// FieldsSize returns the size of the fields and the name of the longest field, truncated to maxLoggedField.
func FieldsSize(fields http.Header) (size HeaderSize, longestField string) {
	longest := 0
	for name, values := range fields {
		size.Fields += len(values)
		for _, value := range values {
			length := len(name) + len(value) + separators
			size.Bytes += int64(length)
			if length > longest {
				longest, longestField = length, name
			}
		}
	}
	return size, longestField[:min(len(longestField), maxLoggedField)]
}

// ParseHeaderBytes parses the maximum size of a header.
func ParseHeaderBytes(text string) (int, error) {
	bytes, err := strconv.Atoi(text)
	if err != nil || bytes < leastHeaderBytes || bytes > MostHeaderBytes {
		return 0, fmt.Errorf("%q is not a number of bytes from %d to %d", text, leastHeaderBytes, MostHeaderBytes)
	}
	return bytes, nil
}

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
	rest, ok := bytes.CutPrefix(h.data, []byte(r.Method+" "+r.RequestURI+" HTTP/1."))
	return ok && len(rest) > 1 && (rest[1] == '\r' || rest[1] == '\n')
}

func (h *rawHeader) names() []string {
	_, fields, _ := strings.Cut(string(h.data), "\n")
	names := make([]string, 0, max(0, h.lines-2))
	for line := range strings.Lines(fields) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			names = append(names, name)
		}
	}
	return names
}

// size returns the size of the part of the header that has been read.
func (h *rawHeader) size() HeaderSize {
	// Fields does not count the request line, Host, or the empty line.
	return HeaderSize{Bytes: int64(len(h.data)), requestLine: int64(h.requestLine), Fields: max(0, h.lines-3)}
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
