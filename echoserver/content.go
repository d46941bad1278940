package main

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// slowLength is the size of a response that socket buffers hold even if the client does not read, in bytes.
	slowLength = 64 << 10
	// slowTimeout is how long a client may take to read a longer response.
	slowTimeout = 2 * time.Minute
)

// content is the body of a response.
type content struct {
	mediaType string
	policy    string // the Content-Security-Policy; empty means sandbox
	length    int
	source    io.WriterTo
	held      int // bytes in memory
	// Only of text of a requested size.
	status       int // replaces that of the response, unless it is 0
	part, ranges string
}

// content returns the body of the response: generated text of a given size, a fixed text, or the echo in some format.
func (h *handler) content(e *exchange, r *http.Request, wanted *controls, body *body) content {
	switch {
	case wanted.size != nil:
		c := content{mediaType: plainText, length: *wanted.size, source: filler{0, *wanted.size}}
		c.partOf(r, wanted.statusOrOK())
		return c
	case wanted.body != "":
		return content{mediaType: plainText, length: len(wanted.body), source: strings.NewReader(wanted.body)}
	}
	format := wanted.format
	if format == "" {
		format = accepted(r.Header["Accept"])
	}
	echo := h.describe(e, r, wanted, body)
	switch format {
	case formatHTML:
		page := filledPage{&h.pages.echo, echo.compactJSON(true)}
		return content{mediaType: pageType, policy: page.policy, length: page.length(), source: page, held: cap(page.data)}
	case formatText:
		return contentOf(plainText, echo.text())
	}
	if namesJSON(r.Header["Accept"]) { // a program
		return contentOf("application/json", echo.compactJSON(false))
	}
	return contentOf("application/json", echo.indentedJSON())
}

func contentOf(mediaType string, data []byte) content {
	return content{mediaType: mediaType, length: len(data), source: bytes.NewReader(data), held: cap(data)}
}

// write writes the content, unless the status does not allow a body (RFC 9110, 15.3.5, 15.3.6 and 15.4.5).
func (c *content) write(w http.ResponseWriter, status int) {
	status = cmp.Or(c.status, status)
	if c.ranges != "" {
		w.Header().Set("Accept-Ranges", c.ranges)
	}
	if c.part != "" {
		w.Header().Set("Content-Range", c.part)
	}
	switch status {
	case http.StatusNoContent, http.StatusResetContent, http.StatusNotModified:
		w.Header().Del("Content-Type")
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(c.length))
	if c.length > slowLength {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slowTimeout)) // if it fails, writing fails too
	}
	w.WriteHeader(status)
	_, _ = c.source.WriteTo(w) // the client may have disconnected
}

// filler is text from one position to before another.
type filler struct{ begin, end int }

// WriteTo implements io.WriterTo.
func (f filler) WriteTo(w io.Writer) (int64, error) {
	const (
		line  = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"
		lines = line + line + line + line + line + line + line + line
		piece = lines + lines + lines + lines + lines + lines + lines + lines // 4 KiB
	)
	at := f.begin
	for at < f.end {
		from := at % len(piece)
		n, err := io.WriteString(w, piece[from:min(len(piece), from+f.end-at)])
		at += n
		if err != nil {
			return int64(at - f.begin), err
		}
	}
	return int64(at - f.begin), nil
}
