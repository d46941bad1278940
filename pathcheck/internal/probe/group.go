// Package probe examines a path in groups of facts: what it does to requests and responses, and how clients appear to the Echo.
package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// Group is a part of a run that examines related facts.
type Group struct {
	*wire.Client
	Known   *Known
	Direct  string // a URL that reaches the same Echo without the proxies; may be empty
	CA      []byte // PEM certificates that are trusted in addition to the browsers' roots
	Facts   []Fact
	Skipped []NotTested
}

// Skip records why a fact in the group could not be determined.
func (g *Group) Skip(name, reason string) {
	g.Skipped = append(g.Skipped, NotTested{Name: name, Reason: reason})
}

func (g *Group) Add(facts ...Fact) { g.Facts = append(g.Facts, facts...) }

// Ask sends a request. If the Echo does not respond, Ask sends a plain request to check whether the Echo still responds at all. If it does
// not, Ask returns an error that ends the group.
func (g *Group) Ask(ctx context.Context, r *wire.Request) (Outcome, error) {
	a, err := g.Do(ctx, r)
	return g.Outcome(ctx, a, err)
}

// Examine sends a request, and adds the fact that the given function derives from the outcome.
func (g *Group) Examine(ctx context.Context, r *wire.Request, decide func(Outcome) Fact) error {
	o, err := g.Ask(ctx, r)
	if err == nil {
		g.Add(decide(o))
	}
	return err
}

func (g *Group) Outcome(ctx context.Context, a *wire.Response, err error) (Outcome, error) {
	if ended := over(ctx, err); ended != nil {
		return Outcome{}, ended
	}
	switch {
	case err == nil && a.Proven && a.Cached:
		return Outcome{Response: a, Refusal: refusedByCache}, nil
	case err == nil && a.Proven:
		return Outcome{Response: a}, nil
	case err != nil:
		return Outcome{Refusal: wire.RefusalOf(err)}, g.Confirm(ctx)
	}
	return Outcome{Response: a, Refusal: a.Refusal()}, g.Confirm(ctx)
}

// Confirm returns an error unless the Echo responds to a plain request.
func (g *Group) Confirm(ctx context.Context) error {
	a, err := g.Do(ctx, &wire.Request{Path: PlainPath + "?" + wire.NewNonce()}) // no cache has a response for this URL
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	switch {
	case err != nil:
		return fmt.Errorf("the Echo no longer responds: %s", wire.RefusalOf(err))
	case !a.Proven:
		return fmt.Errorf("the Echo no longer responds: the response with status %d does not prove that it comes from the Echo", a.Status)
	}
	return nil
}

// Interrupted returns an error if a stream ended because the run is over or the Echo no longer responds. It returns nil if the stream ended
// because of the path.
func (g *Group) Interrupted(ctx context.Context, err error) error {
	if ended := over(ctx, err); ended != nil || err == nil {
		return ended
	}
	return g.Confirm(ctx)
}

// Each examines the parts of a group until one of them returns an error.
func (g *Group) Each(ctx context.Context, parts ...func(context.Context, *Group) error) error {
	for _, part := range parts {
		if err := part(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// Outcome is the outcome of a request: the Echo's response, or a proxy's refusal.
type Outcome struct {
	*wire.Response        // nil if there was no response
	Refusal        string // such as "404" or "closed"; empty if the Echo responded
}

// Described returns the Echo's description of the request, if any.
func (o Outcome) Described() *wire.Description {
	if o.Refusal != "" {
		return nil
	}
	return o.Description
}

// over returns the reason why a run is over, or nil if it is not over. After a run is over, the outcome of a request reveals nothing about
// the path.
func over(ctx context.Context, err error) error {
	if wire.IsLimit(err) {
		return err
	}
	return DeadlineIn(ctx)
}

var (
	ErrDeadline    = errors.New(verdict.DeadlinePassed)
	errInterrupted = errors.New("the run was interrupted")
)

// NotApplicable is the error for a group that cannot be tested in any run.
type NotApplicable string

func (n NotApplicable) Error() string { return string(n) }

// DeadlineIn returns an error if a run took too long or was interrupted. Reports contain this error instead of its consequences.
func DeadlineIn(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return errInterrupted
	}
	return ErrDeadline
}
