package probe

import (
	"context"
	"fmt"
	"strconv"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// lookups is the number of lookups for each known pod, and maxLookups is the maximum total. A lookup asks a pod how many times it has
// received a nonce. With so many lookups, random load balancing is unlikely to miss a pod.
const lookups, maxLookups = 4, 24

// ExamineRetries makes the Echo respond with 503, and counts how many times a proxy sends the request again.
func ExamineRetries(ctx context.Context, g *Group) error {
	for _, each := range []struct{ fact, method string }{{"retries.get", "GET"}, {"retries.post", "POST"}} {
		attempts, err := countAttempts(ctx, g, each.method, "?echo.status=503&echo.failures=8")
		if err != nil {
			return err
		}
		g.Add(decideRetries(each.fact, each.method, attempts))
	}
	return nil
}

// countAttempts sends a request and returns how many times the Echo's pods have received it.
func countAttempts(ctx context.Context, g *Group, method, query string) (int, error) {
	nonce := wire.NewNonce()
	pods := podCounts{}
	o, err := g.Ask(ctx, &wire.Request{Method: method, Path: PlainPath + query, Nonce: nonce, Fields: wire.Fields("X-Request-Id", nonce)})
	if err != nil {
		return 0, err
	}
	if o.Refusal == "" {
		pods.add(o.Description, o.Attempt, true)
	}
	for number := 0; number < min(lookups*len(pods), maxLookups) || number < lookups; number++ {
		o, err := g.Ask(ctx, &wire.Request{Path: PlainPath + "?echo.status=200", Nonce: nonce})
		if err != nil {
			return 0, err
		}
		if o.Refusal == "" && !o.Cached {
			pods.add(o.Description, o.Attempt, false)
		}
	}
	return pods.total(), nil
}

// podCounts holds how many times each pod has received a request, not counting lookups.
type podCounts map[string]int

// add records how many times a pod has received the request, according to the pod's first response. Later responses also count lookups.
func (c podCounts) add(e *wire.Description, attempt int, isRequest bool) {
	pod := ""
	if e != nil {
		pod = e.Pod
	}
	if _, known := c[pod]; known {
		return
	}
	if !isRequest {
		attempt--
	}
	c[pod] = attempt
}

// total returns how many times all pods together have received the request, or 0 if an unknown pod may also have received it.
func (c podCounts) total() (total int) {
	for _, each := range c {
		total += each
	}
	if _, hidden := c[""]; hidden && total <= 1 || lookups*len(c) > maxLookups {
		return 0
	}
	return total
}

func decideRetries(name, method string, attempts int) Fact {
	received := strconv.Itoa(attempts) + " requests"
	if attempts == 0 {
		return NewFact(name, "not reported", method, received)
	}
	return NewFact(name, strconv.Itoa(attempts-1), method, received)
}

// failures is the number of consecutive failures to cause. Most proxies stop using a pod after five.
const failures = 10

// ExamineOutlierDetection makes the Echo fail, and determines whether proxies stop using its pods. The group is opt-in, because other
// clients also need these pods.
func ExamineOutlierDetection(ctx context.Context, g *Group) error {
	if g.Known.Full {
		attempts, err := countAttempts(ctx, g, "GET", "?echo.connection=reset")
		if err != nil {
			if over(ctx, err) == nil {
				g.Add(NewFact("outlierDetection", "all", "a connection that is reset", "nothing: "+err.Error()))
			}
			return err
		}
		g.Add(decideRetries("retries.reset", "GET", attempts))
	} else {
		g.Skip("retries.reset", "requests can make the Echo reset connections only with spec.server.controls: Full")
	}
	var before *seen
	for range 2 { // only the last result counts, because proxies stop using a pod only after some failures
		var err error
		if before, err = respondingPods(ctx, g, "?echo.status=503"); err != nil {
			if over(ctx, err) == nil {
				g.Add(decideOutlierDetection(nil, nil))
			}
			return err
		}
	}
	after, err := respondingPods(ctx, g, "?echo.status=200")
	if err == nil {
		g.Add(decideOutlierDetection(before, after))
	}
	return err
}

// respondingPods sends several requests, and returns the pods that respond.
func respondingPods(ctx context.Context, g *Group, query string) (*seen, error) {
	all := newSeen()
	for range failures {
		o, err := g.Ask(ctx, &wire.Request{Path: PlainPath + query})
		if err != nil {
			return nil, err
		}
		all.add(o)
	}
	return all, nil
}

// decideOutlierDetection compares the pods that responded during the failures with the pods that responded afterward. If after is nil, no
// pod responds.
func decideOutlierDetection(before, after *seen) Fact {
	const name = "outlierDetection"
	sent := fmt.Sprintf("%d requests for responses with status 503", 2*failures)
	switch {
	case after == nil:
		return NewFact(name, "all", sent, "no more responses from the Echo")
	case len(after.pods) < len(before.pods):
		return NewFact(name, strconv.Itoa(len(before.pods)-len(after.pods)), sent,
			describeCounts(before.pods)+"; then "+describeCounts(after.pods))
	case before.responses+after.responses < 2*failures:
		return NewFact(name, "some responses", sent, fmt.Sprintf("%d of %d responses", before.responses+after.responses, 2*failures))
	}
	return NewFact(name, None, sent, describeCounts(after.pods))
}
