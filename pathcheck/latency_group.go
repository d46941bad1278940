package pathcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// latencyRequests is how many requests are measured.
const latencyRequests = 20

// examineLatency measures how long responses take with the way, and without it if there is a URL for that.
func examineLatency(ctx context.Context, g *group) error {
	took, err := measure(ctx, g.client)
	if err != nil {
		return err
	}
	g.add(decideLatency("latency", "with the way", took)...)
	if g.direct == "" {
		return nil
	}
	t, err := parseTarget(g.direct, "")
	if err != nil {
		return err
	}
	t.source = g.source
	direct := &client{target: t, limits: g.limits, echo: g.echo, agent: g.agent}
	if took, err = measure(ctx, direct); err != nil {
		return fmt.Errorf("without the way: %w", err)
	}
	g.add(decideLatency("latency.direct", "without the way", took)...)
	return nil
}

// measure sends requests one after the other, and returns how long their responses took.
func measure(ctx context.Context, c *client) ([]time.Duration, error) {
	var all []time.Duration
	for range latencyRequests {
		a, err := c.do(ctx, &request{path: plainPath})
		if ended := over(ctx, err); ended != nil {
			return nil, ended
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("no response: %s", refusalOf(err))
		case !a.proven:
			return nil, errors.New("something else than the Echo responds: " + a.refusal())
		}
		all = append(all, a.took)
	}
	return all, nil
}

// decideLatency returns the median, and the longest of the hundredth part, which of so few is the longest.
func decideLatency(name, how string, took []time.Duration) []Fact {
	slices.Sort(took)
	var facts []Fact
	for _, each := range []struct {
		suffix string
		value  time.Duration
	}{{".p50", took[(len(took)-1)/2]}, {".p99", took[len(took)-1]}} {
		facts = append(facts, detail(newFact(name+each.suffix, milliseconds(each.value), fmt.Sprintf("%d requests", len(took)), "",
			"how long a response takes "+how+", on a connection that is open")))
	}
	return facts
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2fms", d.Seconds()*1000) }

// examineTimeouts asks for a response that takes as long as the Echo can delay one.
func examineTimeouts(ctx context.Context, g *group) error {
	const delay = 30 * time.Second
	began := time.Now()
	return g.examine(ctx, &request{path: plainPath + "?echo.delay=" + delay.String(), timeout: delay + timeout},
		func(o outcome) Fact { return decideTimeout(time.Since(began), delay, o) })
}

func decideTimeout(took, delay time.Duration, o outcome) Fact {
	const name, meaning = "timeouts.answer", "after how long the way gives up waiting for a response"
	sent := "a request with a response after " + delay.String()
	if o.refusal == "" {
		return newFact(name, ">"+delay.String(), sent, "the response", meaning)
	}
	return newFact(name, took.Round(time.Second).String(), sent, describeRefusal(o.refusal), meaning)
}
