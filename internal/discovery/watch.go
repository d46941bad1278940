package discovery

import (
	"context"
	"sync/atomic"
	"time"
)

// Watch asks a cluster once a period, while something is required of it. All exported fields are required. Its methods may not be called
// concurrently, but for Miss and Drop.
type Watch struct {
	Changes
	// Ask asks the cluster, as Cluster.Ask.
	Ask func(context.Context, []Kind) (Offer, error)
	// Kinds are the kinds that the cluster may be asked for.
	Kinds []Kind
	// Required reports for which of them objects of the operator ask.
	Required func(context.Context) func(Kind) bool
	// Leads reports whether this replica is the leader.
	Leads func() bool

	missed, dropped atomic.Bool
}

// Miss says that a kind which is watched may no longer be served.
func (w *Watch) Miss() { w.missed.Store(true) }

// Drop drops what earlier responses showed: the cluster is asked again.
func (w *Watch) Drop() { w.dropped.Store(true) }

// Look asks the cluster, if something is required of it, and returns the changes for which the process has to end, none if it goes on. A
// response that fails is none.
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

// required returns the kinds to ask for: those that Echoes require and, when one was missed, until that has been found out, all that are
// used.
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
