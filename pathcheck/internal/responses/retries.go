package responses

import (
	"context"
	"fmt"
	"strconv"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// lookups is how many requests for each pod that is known ask the pods of an Echo how often they have received a nonce, and maxLookups how
// many at most. With so many, it is unlikely that a pod is left out where pods are chosen by chance.
const lookups, maxLookups = 4, 24

// ExamineRetries makes the Echo respond with 503, and counts how often a proxy sends the request again.
func ExamineRetries(ctx context.Context, g *run.Group) error {
	for _, each := range []struct{ fact, method string }{{"retries.get", "GET"}, {"retries.post", "POST"}} {
		attempts, err := countAttempts(ctx, g, each.method, "?echo.status=503&echo.failures=8")
		if err != nil {
			return err
		}
		g.Add(decideRetries(each.fact, each.method, "503", attempts))
	}
	return nil
}

// countAttempts sends a request and returns how often the pods of the Echo have received it.
func countAttempts(ctx context.Context, g *run.Group, method, query string) (int, error) {
	nonce := wire.NewNonce()
	pods := podCounts{}
	o, err := g.Ask(ctx, &wire.Request{Method: method, Path: run.PlainPath + query, Nonce: nonce, Fields: wire.Fields("X-Request-Id", nonce)})
	if err != nil {
		return 0, err
	}
	if o.Refusal == "" {
		pods.add(o.Description, o.Attempt, true)
	}
	for number := 0; number < min(lookups*len(pods), maxLookups) || number < lookups; number++ {
		o, err := g.Ask(ctx, &wire.Request{Path: run.PlainPath, Nonce: nonce})
		if err != nil {
			return 0, err
		}
		if o.Refusal == "" && !o.Cached {
			pods.add(o.Description, o.Attempt, false)
		}
	}
	return pods.total(), nil
}

// podCounts is how often each pod has received a request, without those that ask for it.
type podCounts map[string]int

// add counts what a pod has received according to its response. Only the first response of a pod counts, because each question is a
// request, too.
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

// total returns how often all pods have received the request, 0 if it is not known: one that is not known may have received it, too.
func (c podCounts) total() (total int) {
	for _, each := range c {
		total += each
	}
	if _, hidden := c[""]; hidden && total <= 1 || lookups*len(c) > maxLookups {
		return 0
	}
	return total
}

func decideRetries(name, method, fault string, attempts int) fact.Fact {
	meaning := fmt.Sprintf("how often a proxy repeats a request after the Echo responded with %s; applications must tolerate that", fault)
	received := strconv.Itoa(attempts) + " requests"
	if attempts == 0 {
		return fact.New(name, "not reported", method, received, meaning)
	}
	return fact.New(name, strconv.Itoa(attempts-1), method, received, meaning)
}
