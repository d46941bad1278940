package transport

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
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

// Rejection describes why a request's header is rejected.
type HeaderRejection struct {
	Status int
	limit  int
	Reason string // for the client
}

func newRejection(status int, format string, limit int) *HeaderRejection {
	return &HeaderRejection{Status: status, limit: limit, Reason: fmt.Sprintf(format, limit)}
}

// CheckHeader returns nil if the size is within the limits.
func CheckHeader(size HeaderSize, maxHeaderBytes int) *HeaderRejection {
	switch {
	case size.requestLine > MaxRequestLine:
		return newRejection(http.StatusRequestURITooLong, "the request line is longer than %d bytes", MaxRequestLine)
	case size.Fields > MaxFields:
		return newRejection(http.StatusRequestHeaderFieldsTooLarge, "the header has more than %d fields", MaxFields)
	case size.Bytes > int64(maxHeaderBytes):
		return newRejection(http.StatusRequestHeaderFieldsTooLarge, "the header is larger than %d bytes", maxHeaderBytes)
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
