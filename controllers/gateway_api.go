package controllers

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

const (
	// gatewayPeriod is how often a cluster is asked for Gateway API while an Echo waits for it.
	gatewayPeriod = time.Minute
	// gatewayTimeout bounds one such question, together with how long the objects take to arrive.
	gatewayTimeout = 10 * time.Second
)

// GatewayOffer is what a cluster offers of Gateway API.
type GatewayOffer struct {
	// Served are the kinds that the operator can use.
	Served children.Served
	// Refused says, by kind, why the operator cannot use one that the cluster serves.
	Refused map[string]string
}

// GatewayAPI holds what a cluster offers of Gateway API, with a cache of its objects. The API can be installed and deleted while the operator
// runs: nothing is watched before the cluster serves it, nor after it ceased to. Its methods may be called concurrently. All exported fields
// are required.
type GatewayAPI struct {
	// Find asks what the cluster offers.
	Find func(context.Context) (GatewayOffer, error)
	// NewCache makes a cache of some kinds, which calls lost when one of them is no longer served.
	NewCache func(served children.Served, lost func()) (cache.Cache, error)
	// Add makes the manager run the cache.
	Add func(manager.Runnable) error
	Log logr.Logger
	Now func() time.Time

	// watch makes the controller of Echoes watch what a cache holds.
	watch func(cache.Cache, children.Served) error
	// changes receives an event when the offer has changed.
	changes chan event.TypedGenericEvent[struct{}]

	looking sync.Mutex
	asked   time.Time     // protected by looking
	found   *GatewayOffer // by Ask, until it is used; protected by looking
	current atomic.Pointer[gatewayCache]
}

// gatewayCache is an offer, and a cache of the kinds that are served. Reader is nil if there are none.
type gatewayCache struct {
	GatewayOffer
	client.Reader
	stop context.CancelFunc
	// unknown is why it is not known what the cluster offers, empty if it is.
	unknown string
	// first is the offer for which the cache was made, nil if it is this one.
	first *gatewayCache
}

// isSameCache reports whether two offers share a cache. It is false for nil, which is what is known at the start.
func (c *gatewayCache) isSameCache(other *gatewayCache) bool {
	return c != nil && cmp.Or(c.first, c) == cmp.Or(other.first, other)
}

// Ask asks what the cluster offers before the first pass, so that no pass has to where the cluster serves nothing of Gateway API. If it does not
// answer, the first pass asks again.
func (g *GatewayAPI) Ask(ctx context.Context) {
	g.looking.Lock()
	defer g.looking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, gatewayTimeout)
	defer cancel()
	offer, err := g.Find(ctx)
	switch {
	case err != nil:
	case len(offer.Served) == 0:
		g.asked = g.Now()
		g.current.Store(&gatewayCache{GatewayOffer: offer})
	default:
		g.found = &offer
	}
}

// known returns what the cluster offers, as far as it is known. The first call asks, unless Ask did.
func (g *GatewayAPI) known(ctx context.Context) *gatewayCache {
	if current := g.current.Load(); current != nil {
		return current
	}
	return g.look(ctx)
}

// look asks what the cluster offers, unless it was asked less than gatewayPeriod ago, or status.UnknownPeriod if there was no answer.
func (g *GatewayAPI) look(ctx context.Context) *gatewayCache {
	g.looking.Lock()
	defer g.looking.Unlock()
	if now := g.Now(); g.asked.IsZero() || now.Sub(g.asked) >= gatewayPeriod {
		g.asked = now
		ctx, cancel := context.WithTimeout(ctx, gatewayTimeout)
		defer cancel()
		if err := g.refresh(ctx); err != nil {
			g.Log.Info("The operator could not find out what the cluster serves of Gateway API. It asks again while an Echo requires that.",
				"cause", err.Error())
			g.asked = now.Add(status.UnknownPeriod - gatewayPeriod)
			g.current.CompareAndSwap(nil, &gatewayCache{unknown: err.Error()})
		}
	}
	return g.current.Load()
}

// refresh asks what the cluster offers, and makes another cache if other kinds are served.
func (g *GatewayAPI) refresh(ctx context.Context) error {
	offer, err := g.find(ctx)
	if err != nil {
		return err
	}
	next, last := &gatewayCache{GatewayOffer: offer}, g.current.Load()
	switch {
	case last != nil && last.Served.Equal(offer.Served):
		next.Reader, next.stop, next.first = last.Reader, last.stop, cmp.Or(last.first, last)
		g.current.CompareAndSwap(last, next)
		return nil
	case len(offer.Served) == 0:
		g.replace(last, next)
		return nil
	}
	running, err := g.start(ctx, next)
	if err != nil {
		return err
	}
	g.replace(last, next)
	if running.Err() != nil { // lost before it was known
		g.lose(next)
	}
	return nil
}

// find returns what Ask found, once, and asks otherwise.
func (g *GatewayAPI) find(ctx context.Context) (GatewayOffer, error) {
	if found := g.found; found != nil {
		g.found = nil
		return *found, nil
	}
	return g.Find(ctx)
}

// replace makes a cache the one that is known, and ends the last one.
func (g *GatewayAPI) replace(last, next *gatewayCache) {
	g.current.Store(next)
	if last != nil && last.stop != nil {
		last.stop()
	}
	g.report()
}

// lose ends a cache, and forgets it, whichever offer has it by now.
func (g *GatewayAPI) lose(lost *gatewayCache) {
	lost.stop()
	current := g.current.Load()
	for current.isSameCache(lost) && !g.current.CompareAndSwap(current, &gatewayCache{}) {
		current = g.current.Load()
	}
	if current.isSameCache(lost) {
		g.Log.Info("The cluster no longer serves what the operator watches of Gateway API.")
		g.report()
	}
}

// report says that the offer has changed.
func (g *GatewayAPI) report() {
	select {
	case g.changes <- event.TypedGenericEvent[struct{}]{}:
	default: // one is on its way
	}
}

// start runs a cache of what is offered, and returns when it holds all objects. The context ends with the cache.
func (g *GatewayAPI) start(ctx context.Context, next *gatewayCache) (context.Context, error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	next.stop = stop
	objects, err := g.NewCache(next.Served, func() { g.lose(next) })
	if err == nil {
		next.Reader = objects
		err = errors.Join(g.watch(objects, next.Served), g.Add(manager.RunnableFunc(func(managed context.Context) error {
			defer context.AfterFunc(managed, stop)()
			return objects.Start(running)
		})))
	}
	waiting, stopWaiting := context.WithCancel(ctx)
	defer stopWaiting()
	defer context.AfterFunc(running, stopWaiting)() // it may be lost before it holds anything
	if err == nil && !objects.WaitForCacheSync(waiting) {
		err = errors.New("its objects cannot be listed: check the errors in the log")
	}
	if err != nil {
		stop()
	}
	return running, err
}
