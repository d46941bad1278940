package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// noGatewayAPI returns what a cluster offers that does not serve Gateway API.
func noGatewayAPI(now func() time.Time) *GatewayAPI {
	return &GatewayAPI{
		Find:    func(context.Context) (GatewayOffer, error) { return GatewayOffer{}, nil },
		Log:     logr.Discard(),
		Now:     now,
		changes: make(chan event.TypedGenericEvent[struct{}], 1),
	}
}

func TestAClusterIsAskedForGatewayAPIOnceAMinute(t *testing.T) {
	now, asked := time.Unix(1000, 0), 0
	g := noGatewayAPI(func() time.Time { return now })
	answer := error(nil)
	g.Find = func(context.Context) (GatewayOffer, error) {
		asked++
		return GatewayOffer{Refused: map[string]string{"HTTPRoute": "no"}}, answer
	}
	for _, step := range []struct {
		after time.Duration
		look  bool
		err   error
		want  int
	}{
		{0, false, errors.New("unreachable"), 1}, // the first pass asks, whatever comes of it
		{status.UnknownPeriod, false, nil, 1},    // nobody waits
		{-1, true, nil, 1},
		{1, true, nil, 2},
		{gatewayPeriod - 1, true, nil, 2},
		{1, true, nil, 3},
	} {
		now, answer = now.Add(step.after), step.err
		if step.look {
			g.look(t.Context())
		} else {
			g.known(t.Context())
		}
		if unknown := g.known(t.Context()).unknown != ""; unknown != (asked == 1) {
			t.Errorf("after %d questions, it is unknown: %t", asked, unknown)
		}
		if asked != step.want {
			t.Errorf("it was asked %d times, want %d", asked, step.want)
		}
	}
	if refused := g.known(t.Context()).Refused["HTTPRoute"]; refused != "no" {
		t.Errorf("refused because %q", refused)
	}
}

func TestALostCacheIsForgottenOnce(t *testing.T) {
	g, stopped := noGatewayAPI(time.Now), 0
	lost := &gatewayCache{GatewayOffer: GatewayOffer{Served: children.Served{"HTTPRoute": true}}, stop: func() { stopped++ }}
	g.current.Store(lost)
	g.lose(lost)
	if served := g.known(t.Context()).Served; stopped != 1 || len(served) > 0 || len(g.changes) != 1 {
		t.Errorf("stopped %d times, %v are served, %d changes", stopped, served, len(g.changes))
	}
	next := &gatewayCache{GatewayOffer: lost.GatewayOffer, stop: func() { t.Error("another cache was stopped") }}
	g.current.Store(next)
	g.lose(lost) // its second kind
	if g.known(t.Context()) != next {
		t.Error("another cache was forgotten")
	}
}

// TestACacheIsLostBeforeItIsKnown has the API deleted while the first cache starts.
func TestACacheIsLostBeforeItIsKnown(t *testing.T) {
	g, stopped := noGatewayAPI(time.Now), 0
	g.lose(&gatewayCache{stop: func() { stopped++ }})
	if stopped != 1 || g.current.Load() != nil || len(g.changes) > 0 {
		t.Errorf("stopped %d times, %d changes", stopped, len(g.changes))
	}
}

func TestACacheIsLostWhateverWasOfferedSince(t *testing.T) {
	now := time.Unix(1000, 0)
	g := noGatewayAPI(func() time.Time { return now })
	g.Find = func(context.Context) (GatewayOffer, error) {
		return GatewayOffer{Served: children.Served{"HTTPRoute": true}, Refused: map[string]string{"Gateway": now.String()}}, nil
	}
	first := &gatewayCache{GatewayOffer: GatewayOffer{Served: children.Served{"HTTPRoute": true}}, stop: func() {}}
	g.current.Store(first)
	for range 3 { // an Echo waits for something else
		now = now.Add(gatewayPeriod)
		g.look(t.Context())
	}
	if served := g.known(t.Context()).Served; len(served) != 1 || g.current.Load() == first {
		t.Fatalf("%v are served", served)
	}
	g.lose(first)
	if served := g.known(t.Context()).Served; len(served) > 0 || len(g.changes) != 1 {
		t.Errorf("%v are served, %d changes", served, len(g.changes))
	}
}

func TestWhatWasFoundAtTheStartIsNotAskedForAgain(t *testing.T) {
	for name, served := range map[string]children.Served{"nothing is served": nil, "a kind is served": {"HTTPRoute": true}} {
		t.Run(name, func(t *testing.T) {
			g, asked := noGatewayAPI(time.Now), 0
			g.Find = func(context.Context) (GatewayOffer, error) {
				asked++
				return GatewayOffer{Served: served}, nil
			}
			g.NewCache = func(children.Served, func()) (cache.Cache, error) { return nil, errors.New("no cache") }
			g.Ask(t.Context())
			g.known(t.Context())
			if asked != 1 {
				t.Errorf("it was asked %d times", asked)
			}
		})
	}
}

func TestAClusterThatDoesNotAnswerAtTheStartIsAskedByTheFirstPass(t *testing.T) {
	g, asked := noGatewayAPI(time.Now), 0
	g.Find = func(context.Context) (GatewayOffer, error) {
		asked++
		return GatewayOffer{}, errors.New("unreachable")
	}
	g.Ask(t.Context())
	g.known(t.Context())
	if asked != 2 {
		t.Errorf("it was asked %d times", asked)
	}
}
