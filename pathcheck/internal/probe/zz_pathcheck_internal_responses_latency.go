package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

const latencyRequests = 20

// ExamineLatency measures how long responses take through the path and, if there is a direct URL, without the proxies.
func ExamineLatency(ctx context.Context, g *Group) error {
	took, err := measure(ctx, g.Client)
	if err != nil {
		return err
	}
	g.Add(decideLatency("latency", took)...)
	if g.Direct == "" {
		return nil
	}
	t, err := wire.ParseTarget(g.Direct, "")
	if err != nil {
		return err
	}
	t.Source, t.Certificate = g.Source, g.Certificate // but not the headers, which are for the proxies
	direct := &wire.Client{Target: t, Limits: g.Limits, Echo: g.Echo, Agent: g.Agent}
	if took, err = measure(ctx, direct); err != nil {
		return fmt.Errorf("without the proxies: %w", err)
	}
	g.Add(decideLatency("latency.direct", took)...)
	return nil
}

// measure sends requests one after another, and returns how long each response took.
func measure(ctx context.Context, c *wire.Client) ([]time.Duration, error) {
	var all []time.Duration
	for range latencyRequests {
		a, err := c.Do(ctx, &wire.Request{Path: PlainPath})
		if ended := Over(ctx, err); ended != nil {
			return nil, ended
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("no response: %s", wire.RefusalOf(err))
		case !a.Proven:
			return nil, errors.New("something other than the Echo responds: " + a.Refusal())
		}
		all = append(all, a.Took)
	}
	return all, nil
}

// decideLatency returns the median and the 99th percentile. With so few requests, the 99th percentile is the maximum.
func decideLatency(name string, took []time.Duration) []Fact {
	slices.Sort(took)
	var facts []Fact
	for _, each := range []struct {
		suffix string
		value  time.Duration
	}{{".p50", took[(len(took)-1)/2]}, {".p99", took[len(took)-1]}} {
		facts = append(facts, Detail(NewFact(name+each.suffix, milliseconds(each.value), fmt.Sprintf("%d requests", len(took)), "")))
	}
	return facts
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2fms", d.Seconds()*1000) }
