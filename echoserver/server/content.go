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

// content returns the body of the response: generated text of a given size, a fixed text, or the echo in one of the formats.
func (h *handler) content(e *exchange.Exchange, r *http.Request, desired *controls.Controls, applied controls.Applied,
	body *exchange.Body) content {
	switch {
	case desired.Size != nil:
		text := io.NewSectionReader(filler{}, 0, int64(*desired.Size))
		return content{mediaType: transport.PlainText, length: *desired.Size, source: text, text: text,
			held: min(*desired.Size, copyBuffer)}
	case desired.Body != "":
		return content{mediaType: transport.PlainText, length: len(desired.Body), source: strings.NewReader(desired.Body)}
	}
	echo := h.describer.Describe(e, r, applied, body)
	switch cmp.Or(desired.Format, controls.AcceptedFormat(r.Header["Accept"])) {
	case controls.HTML:
		data := echo.CompactJSON(true)
		source, length := h.pages.Echo.With(data)
		return content{mediaType: describe.PageType, policy: h.pages.Echo.Policy, length: length, held: cap(data), source: source}
	case controls.Text:
		return contentOf(transport.PlainText, echo.Text())
	}
	if controls.NamesJSON(r.Header["Accept"]) { // a program
		return contentOf("application/json", echo.CompactJSON(false))
	}
	return contentOf("application/json", echo.IndentedJSON(e.DescribedSize(body)))
}

func contentOf(mediaType string, data []byte) content {
	return content{mediaType: mediaType, length: len(data), source: bytes.NewReader(data), held: cap(data)}
}

// write writes the content, unless the status does not allow a body (RFC 9110, 15.3.5, 15.3.6, and 15.4.5).
func (c *content) write(w http.ResponseWriter, r *http.Request, status int) {
	switch status {
	case http.StatusNoContent, http.StatusResetContent, http.StatusNotModified:
		w.Header().Del("Content-Type")
		w.WriteHeader(status)
		return
	}
	if c.length > slowLength {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slowTimeout)) // if this fails, so does writing
	}
	// Only GET supports ranges, and an unknown unit is ignored (RFC 9110, 14.2). The server also ignores multiple ranges, because a short
	// request with many ranges could cause a long response.
	ranges := r.Header.Get("Range")
	mayHaveRange := r.Method == http.MethodGet && (ranges == "" || strings.HasPrefix(ranges, "bytes=") && !strings.Contains(ranges, ","))
	if c.text != nil && status == http.StatusOK && mayHaveRange {
		http.ServeContent(w, r, "", time.Time{}, c.text)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(c.length))
	w.WriteHeader(status)
	_, _ = io.Copy(w, c.source) // the client may have disconnected
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

// truncatedWriter is a response writer that drops everything after a given number of bytes.
type truncatedWriter struct {
	*exchange.Exchange
	left int // how many more bytes it writes
}

// Write implements http.ResponseWriter.
func (t *truncatedWriter) Write(data []byte) (int, error) {
	n, err := t.Exchange.Write(data[:min(len(data), t.left)])
	t.left -= n
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return n, err
}

// WriteString implements io.StringWriter.
func (t *truncatedWriter) WriteString(text string) (int, error) { return t.Write([]byte(text)) }
