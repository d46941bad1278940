package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxStreamed is the maximum size of a body that /-/body sends back, in bytes.
	maxStreamed = 1 << 30
	// stallTimeout is how long a stream may make no progress, in either direction.
	stallTimeout = 30 * time.Second
	streamBuffer = 32 << 10
)

// streamBody sends the request body back while it is received.
func (h *handler) streamBody(e *exchange, r *http.Request) {
	if r.ContentLength > maxStreamed {
		h.unreadable(e, &http.MaxBytesError{Limit: maxStreamed})
		return
	}
	controller := http.NewResponseController(e)
	if err := controller.EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) { // HTTP/2 is always full-duplex
		refuse(e, http.StatusInternalServerError, "the connection cannot read and write at the same time")
		return
	}
	if !e.take(streamBuffer) {
		h.exhausted(e)
		return
	}
	source := http.MaxBytesReader(e.ResponseWriter, r.Body, maxStreamed)
	if r.URL.RawQuery == "digest" {
		h.digestStream(e, source)
		return
	}
	e.Header().Set("Content-Type", "application/octet-stream")
	if r.ContentLength >= 0 {
		e.Header().Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	if err := copyStream(e, source, controller); err != nil {
		h.abort(err)
	}
}

// digestStream responds with the size and the SHA-256 of a body when it has all of it, because not all proxies read and write at the same time.
func (h *handler) digestStream(e *exchange, source io.Reader) {
	digest, counted := sha256.New(), &counter{}
	if err := copyStream(io.MultiWriter(digest, counted), source, http.NewResponseController(e)); err != nil {
		h.unreadable(e, err)
		return
	}
	e.Header().Set("Content-Type", plainText)
	_, _ = fmt.Fprintf(e, "%d %x\n", counted.bytes, digest.Sum(nil)) // the client may have disconnected
}

// counter counts what is written to it.
type counter struct{ bytes int64 }

// Write implements io.Writer.
func (c *counter) Write(data []byte) (int, error) {
	c.bytes += int64(len(data))
	return len(data), nil
}

// copyStream copies source to target and fails if either side makes no progress for stallTimeout.
func copyStream(target io.Writer, source io.Reader, controller *http.ResponseController) error {
	buffer := make([]byte, streamBuffer)
	for {
		deadline := time.Now().Add(stallTimeout)
		if err := errors.Join(controller.SetReadDeadline(deadline), controller.SetWriteDeadline(deadline)); err != nil {
			return fmt.Errorf("setting deadlines: %w", err)
		}
		n, err := source.Read(buffer)
		if n > 0 {
			if _, err := target.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// abort aborts a response that was partly sent, so that the client does not take it for a complete one.
func (h *handler) abort(err error) {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		h.metrics.limited(limitBody)
	}
	panic(http.ErrAbortHandler) // tells net/http to close the connection
}
