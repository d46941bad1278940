package main

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// slowLength is what a socket takes in without a client that reads, in bytes.
	slowLength = 64 << 10
	// slowTimeout is how long a client may take to read more than that.
	slowTimeout = 2 * time.Minute
)

// content is the body of an answer.
type content struct {
	mediaType string
	policy    string // the Content-Security-Policy; empty: the sandbox
	length    int
	source    io.WriterTo
}

// content is what is wanted: so many bytes, a fixed text, or the echo in some format. It may use the buffer.
func (h *handler) content(e *exchange, r *http.Request, wanted *controls, body *body, buffer *[answerCapacity]byte) content {
	switch {
	case wanted.size != nil:
		return content{mediaType: plainText, length: *wanted.size, source: filler(*wanted.size)}
	case wanted.body != "":
		return contentOf(plainText, []byte(wanted.body))
	}
	format := wanted.format
	if format == "" {
		format = accepted(r.Header["Accept"])
	}
	told := h.describe(e, r, wanted, body)
	switch format {
	case formatHTML:
		page := contentOf(pageType, h.pages.echo.with(told.json(buffer[:0])))
		page.policy = h.pages.echo.policy
		return page
	case formatText:
		return contentOf(plainText, told.text())
	}
	return contentOf("application/json", told.json(buffer[:0]))
}

func contentOf(mediaType string, data []byte) content {
	return content{mediaType: mediaType, length: len(data), source: bytes.NewReader(data)}
}

// write sends the content, unless the status forbids any (RFC 9110, 15.3.5, 15.3.6 and 15.4.5).
func (c *content) write(w http.ResponseWriter, status int) {
	switch status {
	case http.StatusNoContent, http.StatusResetContent, http.StatusNotModified:
		w.Header().Del("Content-Type")
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(c.length))
	if c.length > slowLength {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slowTimeout)) // fails where writing fails too
	}
	w.WriteHeader(status)
	_, _ = c.source.WriteTo(w) // the client may be gone; there is nobody left to tell
}

// filler is so many bytes of lines of text.
type filler int

// WriteTo implements io.WriterTo.
func (f filler) WriteTo(w io.Writer) (int64, error) {
	piece := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"), 512) // 32 KiB
	written := int64(0)
	for written < int64(f) {
		n, err := w.Write(piece[:min(int64(len(piece)), int64(f)-written)])
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
