package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

const (
	// maxStreamed is the maximum size, in bytes, of a body that /-/body sends back.
	maxStreamed  = 1 << 30
	streamBuffer = 32 << 10
)

// streamBody sends the request body back while it is still being received, or responds with its size and SHA-256 digest.
func (h *handler) streamBody(e *exchange.Exchange, r *http.Request) {
	if r.ContentLength > maxStreamed {
		h.unreadable(e, &http.MaxBytesError{Limit: maxStreamed})
		return
	}
	// HTTP/2 is always full-duplex.
	if err := http.NewResponseController(e).EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		exchange.Reject(e, http.StatusInternalServerError, "the connection cannot read and write at the same time")
		return
	}
	if !e.Acquire(streamBuffer) {
		h.exhausted(e)
		return
	}
	source, buffer := stream{http.MaxBytesReader(e.ResponseWriter, r.Body, maxStreamed), e}, make([]byte, streamBuffer)
	if r.URL.Query().Has("digest") {
		// The response begins only after the whole body is received, because not all proxies can read and write at the same time.
		digest := sha256.New()
		size, err := io.CopyBuffer(digest, source, buffer)
		if err != nil {
			h.unreadable(e, err)
			return
		}
		e.Reply(http.StatusOK, transport.PlainText, fmt.Sprintf("%d %x\n", size, digest.Sum(nil)))
		return
	}
	e.Header().Set("Content-Type", "application/octet-stream")
	if r.ContentLength >= 0 {
		e.Header().Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	if _, err := io.CopyBuffer(e, source, buffer); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			h.metrics.Rejected(limitBody)
		}
		panic(http.ErrAbortHandler) // makes net/http close the connection, so that the client does not mistake the response for a complete one
	}
}

// stream is a request body whose exchange fails if either direction makes no progress for StallTimeout.
type stream struct {
	io.Reader
	exchange *exchange.Exchange
}

func (s stream) Read(p []byte) (int, error) {
	if err := exchange.SetDeadlines(s.exchange, time.Now().Add(exchange.StallTimeout)); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

// events sends a server-sent event immediately and then once per interval, until the client disconnects or the server stops. If a proxy
// buffers responses, events arrive late, or several at once. A client that reconnects gets the numbers after the last one it received.
func (h *handler) events(e *exchange.Exchange, r *http.Request, interval time.Duration) {
	if !exchange.Gets(e, r, "an event stream") {
		return
	}
	e.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	if !e.Acquire(exchange.WaitingCost) {
		h.exhausted(e)
		return
	}
	ticks := time.Tick(interval)
	for number := firstEvent(r.Header.Get("Last-Event-ID")); ; number++ {
		deadline := exchange.SetDeadlines(e, time.Now().Add(exchange.StallTimeout))
		_, written := fmt.Fprintf(e, "id: %d\ndata: {\"number\":%d,\"time\":%q}\n\n", number, number, time.Now().UTC().Format(time.RFC3339Nano))
		if errors.Join(deadline, written, e.FlushError()) != nil {
			return
		}
		select {
		case <-ticks:
		case <-h.life.ending:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// firstEvent returns the number of the first event for a client that last received the event with the given ID. It ignores an ID that the
// server cannot have sent, or that JavaScript cannot represent exactly.
func firstEvent(lastID string) int64 {
	last, err := strconv.ParseUint(lastID, 10, 52)
	if err != nil {
		return 1
	}
	return int64(last) + 1
}
