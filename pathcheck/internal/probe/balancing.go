package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// separateRequests is the number of requests on separate connections, and connectionRequests is the number of requests on a shared
// connection.
const (
	separateRequests   = 20
	connectionRequests = 6
)

// seen counts the requests that arrived, by pod and by connection.
type seen struct {
	pods, peers map[string]int
	responses   int
	closed      bool // the other side has closed a connection that could have remained open
	cookies     []string
}

func newSeen() *seen { return &seen{pods: map[string]int{}, peers: map[string]int{}} }

func (s *seen) add(o Outcome) {
	e := o.Described()
	if e == nil {
		return
	}
	s.responses++
	s.pods[e.Pod]++
	s.peers[e.Client.RemoteAddress]++
	for _, each := range o.Header.Values("Set-Cookie") {
		name, _, _ := strings.Cut(each, "=")
		s.cookies = append(s.cookies, name)
	}
}

// ExamineLoadBalancing sends requests on separate connections, and then on a shared connection.
func ExamineLoadBalancing(ctx context.Context, g *Group) error {
	each := newSeen()
	for range separateRequests {
		o, err := g.Ask(ctx, &wire.Request{Path: PlainPath})
		if err != nil {
			return err
		}
		each.add(o)
	}
	shared, err := shareConnection(ctx, g)
	if err != nil {
		return err
	}
	g.Add(decideLoadBalancing(each, shared)...)
	return nil
}

// shareConnection sends requests on one connection while the connection remains open.
func shareConnection(ctx context.Context, g *Group) (*seen, error) {
	all := newSeen()
	r := &wire.Request{Path: PlainPath, Fields: wire.Fields("Connection", "keep-alive")}
	s, err := g.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // only the data read so far matters
	for number := 1; ; number++ {
		a, err := g.Read(s, wire.MaxBody)
		if err != nil {
			all.closed = true
			return all, over(ctx, err) // the closed connection is a result, not an error
		}
		if !a.Proven {
			return all, nil
		}
		all.add(Outcome{Response: a})
		if all.closed = a.Closed; a.Closed || number == connectionRequests {
			return all, nil
		}
		if err := g.SendNext(s, r); err != nil {
			all.closed = true
			return all, over(ctx, err)
		}
	}
}

// decideLoadBalancing compares requests on separate connections with requests on a shared connection.
func decideLoadBalancing(each, shared *seen) []Fact {
	sent := fmt.Sprintf("%d requests, each on a separate connection", separateRequests)
	together := fmt.Sprintf("%d requests on one connection", connectionRequests)
	open := Yes
	if shared.closed {
		open = No
	}
	facts := []Fact{NewFact("loadBalancing.keepAlive", open, together, fmt.Sprintf("%d responses", shared.responses))}
	upstream := "new each time"
	switch {
	case each.peers[""] > 0:
		upstream = "not reported"
	case len(each.peers) < each.responses:
		upstream = "reused"
	}
	facts = append(facts, Detail(NewFact("loadBalancing.upstream", upstream, sent, fmt.Sprintf("%d connections", len(each.peers)))))
	if each.pods[""] > 0 || each.responses == 0 {
		return append(facts, NewFact("loadBalancing.pods", "not reported", sent, "no pod names"))
	}
	counts := describeCounts(each.pods)
	affinity, received := None, counts+"; on one connection "+describeCounts(shared.pods)
	switch {
	case len(each.cookies) > 0:
		affinity, received = "cookie", "the cookie "+listed(each.cookies)+"; "+received
	case len(each.pods) == 1:
		affinity, received = "one pod", received+": there is only one pod, or the client's address determines the pod"
	case len(shared.pods) == 1 && shared.responses > 1:
		affinity = "connection"
	}
	return append(facts, Detail(NewFact("loadBalancing.pods", strconv.Itoa(len(each.pods)), sent, counts)),
		Detail(NewFact("loadBalancing.affinity", affinity, "", received)))
}

func describeCounts(counts map[string]int) string {
	var texts []string
	for name, count := range counts {
		texts = append(texts, fmt.Sprintf("%s (%d)", name, count))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

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
	t.Source, t.DialContext, t.Certificate = g.Source, g.DialContext, g.Certificate // but not the headers, which are for the proxies
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
		if ended := over(ctx, err); ended != nil {
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
	fact := func(suffix string, value time.Duration) Fact {
		return Detail(NewFact(name+suffix, fmt.Sprintf("%.2fms", value.Seconds()*1000), fmt.Sprintf("%d requests", len(took)), ""))
	}
	return []Fact{fact(".p50", took[(len(took)-1)/2]), fact(".p99", took[len(took)-1])}
}
