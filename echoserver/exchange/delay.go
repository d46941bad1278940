package exchange

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// MaxWaiting is how many responses can be delayed at the same time.
	MaxWaiting = 1000
	// WaitingCost is what a delayed response holds besides its request, in bytes.
	WaitingCost = 1 << 10
)

// LimitDelays is the reason of ErrTooManyDelays.
const LimitDelays = "delays"

// ErrTooManyDelays is the error of a delay over the limit.
var ErrTooManyDelays = fmt.Errorf("%d responses are delayed already", MaxWaiting)

// Delays delays responses.
type Delays struct {
	Waiting  atomic.Int64    // how many responses are delayed
	Ending   <-chan struct{} // closed when the server stops
	Rejected func(reason string)
}

// Await waits for a delay. It returns ErrTooManyDelays, ErrOverBudget, or why the context ended before.
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
	case <-d.Ending: // better early than aborted
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
