package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// maxWaiting is how many responses can be delayed at the same time.
	maxWaiting = 1000
	// waitingCost is what a delayed response holds besides its request, in bytes.
	waitingCost = 1 << 10
)

var errTooManyDelays = fmt.Errorf("%d responses are delayed already", maxWaiting)

// hold waits for the delay. It returns false if too many responses are delayed, and aborts if the client disconnects: a client that has
// closed only its sending side would take an empty response for a valid one.
func (h *handler) hold(e *exchange, r *http.Request, delay time.Duration) bool {
	switch err := h.awaitDelay(r.Context(), e, delay); {
	case err == nil:
		return true
	case errors.Is(err, errTooManyDelays):
		e.Header().Set("Retry-After", "1")
		refuse(e, http.StatusTooManyRequests, err.Error())
	case errors.Is(err, errOverBudget):
		h.exhausted(e)
	default:
		e.status = statusClientClosedRequest
		panic(http.ErrAbortHandler) // tells net/http to close the connection
	}
	return false
}

// awaitDelay waits for a delay. It returns errTooManyDelays, errOverBudget, or why the context ended before.
func (h *handler) awaitDelay(ctx context.Context, e *exchange, delay time.Duration) error {
	if delay == 0 {
		return nil
	}
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > maxWaiting {
		h.metrics.limited(limitDelays)
		return errTooManyDelays
	}
	if !e.take(waitingCost) {
		return errOverBudget
	}
	setDeadlines(e, time.Now().Add(delay+responseTimeout))
	select {
	case <-time.After(delay):
		return nil
	case <-h.life.ending: // better early than aborted
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
