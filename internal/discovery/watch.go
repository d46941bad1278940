package discovery

import (
	"context"
	"sync/atomic"
	"time"
)

// Watch queries a cluster once per period while any Echo requires a kind. All exported fields are required. Only Miss and Drop may be
// called concurrently.
type Watch struct {
	Changes
	// Ask queries the cluster, as Cluster.Ask does.
	Ask func(context.Context, []Kind) (Offer, error)
	// Kinds holds the kinds that a query can include.
	Kinds []Kind
	// Required returns a function that reports whether any Echo requires a kind.
	Required func(context.Context) func(Kind) bool
	// Leads reports whether this replica is the leader.
	Leads func() bool

	missed, dropped atomic.Bool
}

// Miss reports that the cluster may no longer serve a watched kind.
func (w *Watch) Miss() { w.missed.Store(true) }

// Drop discards the changes that earlier responses showed.
func (w *Watch) Drop() { w.dropped.Store(true) }

// Look queries the cluster if there are kinds to ask about. It returns the changes that require the process to exit, or none if the process
// can continue. A failed query counts as no change.
func (w *Watch) Look(ctx context.Context, at time.Time) []string {
	if w.dropped.Swap(false) {
		w.forget()
	}
	kinds := w.required(ctx)
	if len(kinds) == 0 {
		w.forget()
		return nil
	}
	now, err := w.Ask(ctx, kinds)
	if err != nil {
		w.forget()
		return nil
	}
	return w.add(at, w.Leads(), now)
}

// required returns the kinds to include in the next query: the kinds that Echoes require. After a call to Miss, and as long as responses
// show a change, the query also includes all kinds that are in use.
func (w *Watch) required(ctx context.Context) []Kind {
	missed := w.missed.Swap(false) || w.pending()
	isRequired := w.Required(ctx)
	var kinds []Kind
	for _, kind := range w.Kinds {
		if isRequired(kind) || missed && w.Start[kind.GroupVersionKind].Access == Usable {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
