package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// minPeriods is the number of periods that a process runs at least before it exits because of a change.
const minPeriods = 10

// Watch determines when the operator must restart because the APIs that the cluster offers have changed. All exported fields are required.
// Only Miss and Drop may be called concurrently.
type Watch struct {
	// Period is the time between two queries.
	Period time.Duration
	// Began is the time at which the process started, and Start is what it found then.
	Began time.Time
	Start Offer
	// Ask queries the cluster about some of the kinds, as Cluster.Ask does.
	Ask   func(context.Context, []optionalKind) (Offer, error)
	Kinds []optionalKind
	// Required returns a function that reports whether any Echo requires a kind.
	Required func(context.Context) func(optionalKind) bool
	// Elected is closed when this replica is the leader.
	Elected <-chan struct{}

	seen   atomic.Value // a string, which describes the changes in the last response
	missed atomic.Bool
}

// Miss reports that the cluster may no longer serve a watched kind.
func (w *Watch) Miss() { w.missed.Store(true) }

// Drop discards the changes in the last response.
func (w *Watch) Drop() { w.seen.Store("") }

// Next returns the time of the next query, which is at least half a period away. The leader's queries are half a period apart from those of
// other replicas, so that two replicas never exit together.
func (w *Watch) Next(now time.Time) time.Time {
	select {
	case <-w.Elected:
		return now.Truncate(w.Period).Add(w.Period + w.Period/2)
	default:
		return now.Round(w.Period).Add(w.Period)
	}
}

// Look queries the cluster about the kinds that Echoes require and, after a call to Miss or a change, about all kinds in use. If two
// consecutive responses show the same changes, Look returns a description of them, and the process must exit. Otherwise, it returns "".
func (w *Watch) Look(ctx context.Context, now time.Time) string {
	before, _ := w.seen.Swap("").(string)
	missed, isRequired := w.missed.Swap(false) || before != "", w.Required(ctx)
	offer, err := w.Ask(ctx, slices.DeleteFunc(slices.Clone(w.Kinds), func(kind optionalKind) bool {
		used := missed && w.Start[kind.GroupVersionKind].access == Usable
		return !used && !isRequired(kind)
	}))
	if err != nil { // not a change: the cluster may serve the kinds
		return ""
	}
	var changes []string
	for kind, found := range offer {
		if was := w.Start[kind].access; was != found.access {
			changes = append(changes, fmt.Sprintf("%s: %s at startup, %s now", kind.GroupKind(), was, found.access))
		}
	}
	slices.Sort(changes)
	seen := strings.Join(changes, "; ")
	w.seen.Store(seen)
	if seen != before || now.Sub(w.Began) < minPeriods*w.Period {
		return ""
	}
	return seen
}
