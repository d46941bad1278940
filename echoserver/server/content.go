package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

const (
	// slowLength is the maximum size, in bytes, of a response that fits into the socket buffers even if the client does not read it.
	slowLength = 64 << 10
	// slowTimeout is how long a client may take to read a longer response.
	slowTimeout = 2 * time.Minute
	// copyBuffer is the size, in bytes, of the buffer that io.Copy uses to write a longer text.
	copyBuffer = 32 << 10
)

type content struct {
	mediaType string
	length    int
	source    io.Reader
	held      int // the amount of memory, in bytes, that the content holds
	status    int // 0 unless the request specifies a range
}

// content returns the body of the response: generated text of a given size, a fixed text, or the echo in one of the formats. It claims each
// body except generated text and pages.
func (h *handler) content(e *exchange.Exchange, r *http.Request, desired *controls.Controls, body *exchange.Body) content {
	switch {
	case desired.Size != nil:
		return generated(e, r, desired)
	case desired.Body != "":
		e.Claim(false, func() io.Reader { return strings.NewReader(desired.Body) })
		return content{mediaType: transport.PlainText, length: len(desired.Body), source: strings.NewReader(desired.Body)}
	}
	echo := h.describer.Describe(e, r, desired.Applied(), body)
	switch cmp.Or(desired.Format, controls.AcceptedFormat(r.Header["Accept"])) {
	case controls.HTML: // no client verifies the digest of a page, which would cost more CPU time than the rest of the proof
		e.Header().Set("Content-Security-Policy", h.pages.Echo.Policy)
		data := echo.CompactJSON(true)
		return content{mediaType: describe.PageType, length: h.pages.Echo.Size + len(data), held: cap(data), source: h.pages.Echo.With(data)}
	case controls.Text:
		return contentOf(e, transport.PlainText, echo.Text())
	}
	if controls.NamesJSON(r.Header["Accept"]) { // a program
		return contentOf(e, "application/json", echo.CompactJSON(false))
	}
	return contentOf(e, "application/json", echo.IndentedJSON(e.DescribedSize(body)))
}

// generated returns generated text, or the part of it that the request's Range header specifies (RFC 9110, 14.2). It ignores multiple
// ranges, because a short request with many ranges could cause a long response.
func generated(e *exchange.Exchange, r *http.Request, desired *controls.Controls) content {
	size, begin, end := *desired.Size, 0, *desired.Size
	c := content{mediaType: transport.PlainText, held: min(size, copyBuffer)}
	isGet := r.Method == http.MethodGet
	if (isGet || r.Method == http.MethodHead) && desired.StatusOrOK() == http.StatusOK && desired.Connection == "" && size > 0 {
		e.Header().Set("Accept-Ranges", "bytes")
		text, isRange := strings.CutPrefix(strings.Join(r.Header["Range"], ","), "bytes=")
		if isGet && isRange && !strings.Contains(text, ",") && r.Header["If-Range"] == nil { // no validator matches
			var ok bool
			if begin, end, ok = parseRange(text, size); !ok {
				e.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", size))
				const reason = "echo-server: the text has no such range\n"
				c.status, c.length, c.source = http.StatusRequestedRangeNotSatisfiable, len(reason), strings.NewReader(reason)
				return c
			}
			e.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", begin, end-1, size))
			c.status = http.StatusPartialContent
		}
	}
	c.length, c.source = end-begin, io.NewSectionReader(filler{}, int64(begin), int64(end-begin))
	return c
}

// parseRange returns the part of a text of the given size that a range specifies, and false if there is no such part.
func parseRange(text string, size int) (begin, end int, ok bool) {
	first, last, isRange := strings.Cut(text, "-")
	begin, hasBegin := parsePosition(first)
	end, hasEnd := parsePosition(last)
	switch {
	case first == "": // the last bytes
		begin, end, hasBegin = size-min(end, size), size, true
	case last == "":
		end, hasEnd = size, true
	default:
		end = min(end+1, size)
	}
	return begin, end, isRange && hasBegin && hasEnd && begin < end
}

// parsePosition parses a position, which may be far behind the end of a text.
func parsePosition(text string) (int, bool) {
	position, err := strconv.ParseUint(text, 10, 31)
	return int(position), err == nil || errors.Is(err, strconv.ErrRange)
}

func contentOf(e *exchange.Exchange, mediaType string, data []byte) content {
	e.Claim(mediaType == "application/json", func() io.Reader { return bytes.NewReader(data) })
	return content{mediaType: mediaType, length: len(data), source: bytes.NewReader(data), held: cap(data)}
}

// write writes the content, or half of it, unless the status does not allow a body.
func (c *content) write(e *exchange.Exchange, status int, truncate bool) {
	if !exchange.AllowsBody(status) {
		e.Header().Del("Content-Type")
		e.WriteHeader(status)
		return
	}
	if c.length > slowLength {
		_ = http.NewResponseController(e).SetWriteDeadline(time.Now().Add(slowTimeout)) // if this fails, so does writing
	}
	e.Header().Set("Content-Length", strconv.Itoa(c.length))
	e.WriteHeader(cmp.Or(c.status, status))
	if truncate { // the cost of a request covers a small buffer
		_, _ = io.CopyBuffer(e, io.LimitReader(c.source, int64(c.length/2)), make([]byte, 1<<10))
		return
	}
	_, _ = io.Copy(e, c.source) // the client may have disconnected
}

// filler generates endless text.
type filler struct{}

// ReadAt implements io.ReaderAt. It never fails.
func (filler) ReadAt(p []byte, offset int64) (int, error) {
	const (
		line  = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"
		lines = line + line + line + line + line + line + line + line
	)
	n := copy(p, lines[offset%int64(len(line)):])
	for n < len(p) {
		n += copy(p[n:], lines)
	}
	return n, nil
}
