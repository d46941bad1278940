package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// events sends a server-sent event immediately and then one each interval, until the client disconnects or the server stops. If a
// proxy buffers, events arrive late or together.
func (h *handler) events(e *exchange, r *http.Request, interval time.Duration) {
	if r.Method != http.MethodGet {
		e.Header().Set("Allow", http.MethodGet)
		refuse(e, http.StatusMethodNotAllowed, "an event stream requires GET")
		return
	}
	e.Header().Set("Content-Type", "text/event-stream")
	controller := http.NewResponseController(e)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for number := 1; sendEvent(e, controller, number) == nil; number++ {
		select {
		case <-ticker.C:
		case <-h.life.ending:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func sendEvent(e *exchange, controller *http.ResponseController, number int) error {
	deadline := controller.SetWriteDeadline(time.Now().Add(stallTimeout))
	_, written := fmt.Fprintf(e, "id: %d\ndata: {\"number\":%d,\"time\":%q}\n\n", number, number, time.Now().UTC().Format(time.RFC3339Nano))
	return errors.Join(deadline, written, controller.Flush())
}
