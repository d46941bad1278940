package pathcheck

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// spreadRequests is how many requests find out which pods respond, and connectionRequests how many share a connection.
const (
	spreadRequests     = 20
	connectionRequests = 6
)

// seen is what requests have told of where they arrived.
type seen struct {
	pods, peers map[string]int
	responses   int
	closed      bool // the way has closed a connection that could have remained open
	cookies     []string
}

func newSeen() *seen { return &seen{pods: map[string]int{}, peers: map[string]int{}} }

func (s *seen) add(o outcome) {
	e := o.echoed()
	if e == nil {
		return
	}
	s.responses++
	s.pods[e.Pod]++
	s.peers[e.Client.RemoteAddress]++
	for _, each := range o.header.Values("Set-Cookie") {
		name, _, _ := strings.Cut(each, "=")
		s.cookies = append(s.cookies, name)
	}
}

// examineSpread sends requests on connections of their own, and on one.
func examineSpread(ctx context.Context, g *group) error {
	each := newSeen()
	for range spreadRequests {
		o, err := g.ask(ctx, &request{path: plainPath})
		if err != nil {
			return err
		}
		each.add(o)
	}
	shared, err := shareConnection(ctx, g)
	if err != nil {
		return err
	}
	g.add(decideSpread(each, shared)...)
	return nil
}

// shareConnection sends requests on one connection, for as long as the way leaves it open.
func shareConnection(ctx context.Context, g *group) (*seen, error) {
	all := newSeen()
	s, err := g.open(ctx, &request{path: plainPath, fields: []field{{"Connection", "keep-alive"}}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // what was read decides
	for number := 1; ; number++ {
		a, err := g.read(s, maxBody)
		if err != nil {
			all.closed = true
			return all, over(ctx, err) // that it is closed is what was to find out
		}
		if !a.proven {
			return all, nil
		}
		all.add(outcome{answer: a})
		if all.closed = a.closed; a.closed || number == connectionRequests {
			return all, nil
		}
		if err := g.limits.count(); err != nil {
			return nil, err
		}
		s.nonce = newNonce()
		r := &request{path: plainPath, fields: []field{{"Connection", "keep-alive"}}}
		if s.send(r.header(&g.target, g.check(s.nonce), g.agent)) != nil {
			all.closed = true
			return all, over(ctx, nil)
		}
	}
}

// decideSpread compares requests on connections of their own with those on one.
func decideSpread(each, shared *seen) []Fact {
	sent := fmt.Sprintf("%d requests, each on a connection of its own", spreadRequests)
	together := fmt.Sprintf("%d requests on one connection", connectionRequests)
	open := yes
	if shared.closed {
		open = no
	}
	facts := []Fact{newFact("spread.keepAlive", open, together, fmt.Sprintf("%d responses", shared.responses), "whether the way leaves the connection of a client open for more requests")}
	upstream := "new each time"
	switch {
	case each.peers[""] > 0:
		upstream = "not told"
	case len(each.peers) < each.responses:
		upstream = "reused"
	}
	facts = append(facts, detail(newFact("spread.upstream", upstream, sent, fmt.Sprintf("%d connections", len(each.peers)),
		"whether requests of different connections arrive on the same connection; the Echo then cannot balance by connections")))
	if each.pods[""] > 0 || each.responses == 0 {
		return append(facts, newFact("spread.pods", "not told", sent, "no names of pods", "how many pods respond"))
	}
	pods := newFact("spread.pods", strconv.Itoa(len(each.pods)), sent, describeCounts(each.pods), "how many pods respond")
	return append(facts, detail(pods), detail(decideAffinity(each, shared)))
}

func decideAffinity(each, shared *seen) Fact {
	const name, meaning = "spread.affinity", "whether requests of the same client go to the same pod"
	received := describeCounts(each.pods) + "; on one connection " + describeCounts(shared.pods)
	switch {
	case len(each.cookies) > 0:
		return newFact(name, "cookie", "", "the cookie "+listed(each.cookies)+"; "+received, meaning)
	case len(each.pods) == 1:
		return newFact(name, "one pod", "", received+": there is one pod, or the address of the client decides", meaning)
	case len(shared.pods) == 1 && shared.responses > 1:
		return newFact(name, "connection", "", received, meaning)
	}
	return newFact(name, none, "", received, meaning)
}

func describeCounts(counts map[string]int) string {
	var texts []string
	for name, count := range counts {
		texts = append(texts, fmt.Sprintf("%s (%d)", name, count))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
