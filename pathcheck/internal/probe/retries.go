package probe

import (
	"context"
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
