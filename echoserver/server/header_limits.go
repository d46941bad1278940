package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
)

const (
	// defaultHeaderBytes is the default of the maximum size of a header, in bytes: cookies of a login are often larger than 16 KiB.
	defaultHeaderBytes = 32 << 10
	// leastHeaderBytes and mostHeaderBytes bound the setting.
	leastHeaderBytes = 8 << 10
	mostHeaderBytes  = 64 << 10
	// decoderFactor is how many times the maximum net/http decodes. Beyond, it ends a connection of HTTP/2 with all its streams; up to there,
	// the handler rejects the one request.
	decoderFactor = 4
	// maxFields is the maximum number of fields in a header.
	maxFields = 100
	// maxRequestLine is the maximum length of the first line of a request, in bytes.
	maxRequestLine = 8 << 10
	// maxLoggedField is how much of the name of a field is logged, in bytes.
	maxLoggedField = 64
)

// headerSize is the size of the header of a request, as HTTP/1.1 writes it, so that HTTP/2 has the same limits.
type headerSize struct {
	bytes       int64 // with the request line
	requestLine int64 // without its end
	fields      int
}

// headerRejection is the reason why a request is rejected for its header.
type headerRejection struct {
	status int
	limit  int
	reason string // for the client
}

func newHeaderRejection(status int, format string, limit int) *headerRejection {
	return &headerRejection{status: status, limit: limit, reason: fmt.Sprintf(format, limit)}
}

// checkHeader returns nil for a header within the limits.
func checkHeader(size headerSize, maxHeaderBytes int) *headerRejection {
	switch {
	case size.requestLine > maxRequestLine:
		return newHeaderRejection(http.StatusRequestURITooLong, "the request line is longer than %d bytes", maxRequestLine)
	case size.fields > maxFields:
		return newHeaderRejection(http.StatusRequestHeaderFieldsTooLarge, "the header has more than %d fields", maxFields)
	case size.bytes > int64(maxHeaderBytes):
		return newHeaderRejection(http.StatusRequestHeaderFieldsTooLarge, "the header is larger than %d bytes", maxHeaderBytes)
	}
	return nil
}

// log logs a rejection. Unless the request line is too long, the longest field is usually the cause.
func (r *headerRejection) log(log *slog.Logger, peer, longestField string) {
	attributes := []any{"remote", peer, "status", r.status, "reason", r.reason, "limit", r.limit}
	if r.status != http.StatusRequestURITooLong {
		attributes = append(attributes, "longestField", longestField)
	}
	log.Warn("header rejected", attributes...)
}

// measureHeader returns the size of a parsed header, and the name of its longest field.
func measureHeader(r *http.Request) (size headerSize, longestField string) {
	size, longestField = fieldsSize(r.Header)
	size.requestLine = int64(len(r.Method) + len(r.RequestURI) + len("  HTTP/1.1"))
	size.bytes += size.requestLine + int64(len("\r\nHost")+len(r.Host)+separators+len("\r\n"))
	return size, longestField
}

// separators is the length of what HTTP/1.1 writes between and after the name and the value of a field, in bytes.
const separators = len(": \r\n")

// fieldsSize returns the size of fields, and the name of the longest one, cut to maxLoggedField.
func fieldsSize(fields http.Header) (size headerSize, longestField string) {
	longest := 0
	for name, values := range fields {
		size.fields += len(values)
		for _, value := range values {
			length := len(name) + len(value) + separators
			size.bytes += int64(length)
			if length > longest {
				longest, longestField = length, name
			}
		}
	}
	return size, longestField[:min(len(longestField), maxLoggedField)]
}

func parseHeaderBytes(text string) (int, error) {
	bytes, err := strconv.Atoi(text)
	if err != nil || bytes < leastHeaderBytes || bytes > mostHeaderBytes {
		return 0, fmt.Errorf("%q is not a number of bytes from %d to %d", text, leastHeaderBytes, mostHeaderBytes)
	}
	return bytes, nil
}
