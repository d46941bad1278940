package server

import (
	"bytes"
	"cmp"
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

// content is the body of a response.
type content struct {
	mediaType string
	policy    string // the Content-Security-Policy, which defaults to sandbox
	length    int
	source    io.Reader
	held      int           // the amount of memory, in bytes, that the content holds
	text      io.ReadSeeker // only for generated text, because clients can request ranges of it
}

// content returns the body of the response: generated text of a given size, a fixed text, or the echo in one of the formats. It claims each
// body except generated text.
func (h *handler) content(e *exchange.Exchange, r *http.Request, desired *controls.Controls, applied controls.Applied,
	body *exchange.Body) content {
	switch {
	case desired.Size != nil:
		text := io.NewSectionReader(filler{}, 0, int64(*desired.Size))
		return content{mediaType: transport.PlainText, length: *desired.Size, source: text, text: text,
			held: min(*desired.Size, copyBuffer)}
	case desired.Body != "":
		e.Claim(false, func() io.Reader { return strings.NewReader(desired.Body) })
		return content{mediaType: transport.PlainText, length: len(desired.Body), source: strings.NewReader(desired.Body)}
	}
	echo := h.describer.Describe(e, r, applied, body)
	switch cmp.Or(desired.Format, controls.AcceptedFormat(r.Header["Accept"])) {
	case controls.HTML:
		data := echo.CompactJSON(true)
		source, length := h.pages.Echo.With(data)
		e.Claim(false, func() io.Reader {
			page, _ := h.pages.Echo.With(data)
			return page
		})
		return content{mediaType: describe.PageType, policy: h.pages.Echo.Policy, length: length, held: cap(data), source: source}
	case controls.Text:
		return contentOf(e, transport.PlainText, echo.Text())
	}
	if controls.NamesJSON(r.Header["Accept"]) { // a program
		return contentOf(e, "application/json", echo.CompactJSON(false))
	}
	return contentOf(e, "application/json", echo.IndentedJSON(e.DescribedSize(body)))
}

func contentOf(e *exchange.Exchange, mediaType string, data []byte) content {
	e.Claim(mediaType == "application/json", func() io.Reader { return bytes.NewReader(data) })
	return content{mediaType: mediaType, length: len(data), source: bytes.NewReader(data), held: cap(data)}
}

// write writes the content, or half of it, unless the status does not allow a body (RFC 9110, 15.3.5, 15.3.6, and 15.4.5).
func (c *content) write(e *exchange.Exchange, r *http.Request, status int, truncate bool) {
	switch status {
	case http.StatusNoContent, http.StatusResetContent, http.StatusNotModified:
		e.Header().Del("Content-Type")
		e.WriteHeader(status)
		return
	}
	if c.length > slowLength {
		_ = http.NewResponseController(e).SetWriteDeadline(time.Now().Add(slowTimeout)) // if this fails, so does writing
	}
	// Only GET supports ranges, and an unknown unit is ignored (RFC 9110, 14.2). The server also ignores multiple ranges, because a short
	// request with many ranges could cause a long response.
	ranges := r.Header.Get("Range")
	mayHaveRange := r.Method == http.MethodGet && (ranges == "" || strings.HasPrefix(ranges, "bytes=") && !strings.Contains(ranges, ","))
	if c.text != nil && status == http.StatusOK && mayHaveRange && !truncate {
		http.ServeContent(e, r, "", time.Time{}, c.text)
		return
	}
	e.Header().Set("Content-Length", strconv.Itoa(c.length))
	e.WriteHeader(status)
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
