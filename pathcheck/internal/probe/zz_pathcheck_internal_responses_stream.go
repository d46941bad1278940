package probe

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// examineEvents reads an event stream. The Echo sends one event per second.
func examineEvents(ctx context.Context, g *Group) error {
	const enough = 3
	s, err := g.Open(ctx, &wire.Request{Path: "/-/sse", Fields: wire.Fields("Accept", "text/event-stream")})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // the stream does not end on its own
	if err := s.SetReadDeadline(time.Now().Add(enough * 2 * time.Second)); err != nil {
		return err
	}
	response, interim, err := s.ReadHeader() //nolint:bodyclose // the body ends with the connection
	if err != nil {
		if wire.RefusalOf(err) == "time out" && ctx.Err() == nil {
			g.Add(decideEvents(nil))
			return g.Confirm(ctx)
		}
		_, err = g.Outcome(ctx, nil, err)
		return err
	}
	a := s.NewResponse(response, interim)
	g.Judge(a, s.Nonce)
	if o, err := g.Outcome(ctx, a, nil); err != nil || o.Refusal != "" {
		if o.Refusal != "" {
			g.Add(Refused("response.stream", "GET /-/sse", o.Refusal))
		}
		return err
	}
	arrivals, err := readUntil(response.Body, enough, s.Began, readEvent)
	if ended := g.Interrupted(ctx, err); ended != nil {
		return ended
	}
	g.Add(decideEvents(arrivals))
	return nil
}

// readEvent reads an event, which ends with an empty line.
func readEvent(r io.Reader) error {
	var last, each [1]byte
	for range wire.MaxBody {
		if _, err := io.ReadFull(r, each[:]); err != nil {
			return err
		}
		if each[0] == '\n' && last[0] == '\n' {
			return nil
		}
		last = each
	}
	return errors.New("the event is too long")
}

// decideEvents compares the arrival times of events that were sent one second apart.
func decideEvents(arrivals []time.Duration) Fact {
	const name, sent = "response.stream", "one event per second"
	var texts []string
	for _, each := range arrivals {
		texts = append(texts, each.Round(100*time.Millisecond).String())
	}
	received := "events after " + strings.Join(texts, ", ")
	switch {
	case len(arrivals) == 0:
		return NewFact(name, "buffered", sent, "nothing in time")
	case len(arrivals) < 3 || arrivals[2]-arrivals[0] < time.Second:
		return NewFact(name, "buffered", sent, received)
	}
	return NewFact(name, "streamed", sent, received)
}

// readUntil reads until enough pieces have arrived or reading fails, and returns the arrival time of each piece.
func readUntil(body io.Reader, enough int, began time.Time, read func(io.Reader) error) (arrivals []time.Duration, err error) {
	for len(arrivals) < enough {
		if err := read(body); err != nil {
			return arrivals, err
		}
		arrivals = append(arrivals, time.Since(began))
	}
	return arrivals, nil
}
