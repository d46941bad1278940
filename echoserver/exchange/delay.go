package exchange

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// MaxWaiting is the maximum number of responses that can be delayed at the same time.
	MaxWaiting = 1000
	// WaitingCost is the memory, in bytes, that a delayed response holds in addition to the memory for its request.
	WaitingCost = 1 << 10
)

// LimitDelays is the reason that metrics report for ErrTooManyDelays.
const LimitDelays = "delays"

// ErrTooManyDelays reports that MaxWaiting responses are already delayed.
var ErrTooManyDelays = fmt.Errorf("%d responses are already delayed", MaxWaiting)

// Delays delays responses.
type Delays struct {
	Waiting  atomic.Int64    // the number of delayed responses
	Ending   <-chan struct{} // closed when the server stops
	Rejected func(reason string)
}

// Await waits until a delay has elapsed or the server stops. If the context is done first, Await returns the context's cause. It can also
// return ErrTooManyDelays or ErrOverBudget.
func (d *Delays) Await(ctx context.Context, e *Exchange, delay time.Duration) error {
	if delay == 0 {
		return nil
	}
	defer d.Waiting.Add(-1)
	if d.Waiting.Add(1) > MaxWaiting {
		d.Rejected(LimitDelays)
		return ErrTooManyDelays
	}
	if !e.Acquire(WaitingCost) {
		return ErrOverBudget
	}
	SetDeadlines(e, time.Now().Add(delay+ResponseTimeout))
	select {
	case <-time.After(delay):
		return nil
	case <-d.Ending: // an early response is better than an aborted one
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
