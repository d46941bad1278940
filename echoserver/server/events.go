package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// events sends a server-sent event immediately and then once per interval, until the client disconnects or the server stops. If a proxy
// buffers responses, events arrive late, or several arrive at once. A client that reconnects gets the numbers after the last one that it
// received.
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
	controller := http.NewResponseController(e)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for number := firstEvent(r.Header.Get("Last-Event-ID")); sendEvent(e, controller, number) == nil; number++ {
		select {
		case <-ticker.C:
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

func sendEvent(e *exchange.Exchange, controller *http.ResponseController, number int64) error {
	stalled := time.Now().Add(exchange.StallTimeout)
	deadline := errors.Join(controller.SetReadDeadline(stalled), controller.SetWriteDeadline(stalled))
	_, written := fmt.Fprintf(e, "id: %d\ndata: {\"number\":%d,\"time\":%q}\n\n", number, number, time.Now().UTC().Format(time.RFC3339Nano))
	return errors.Join(deadline, written, controller.Flush())
}
