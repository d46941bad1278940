package pathcheck

import (
	"context"
	"fmt"
	"strconv"
)

// lookups is how many requests for each pod that is known ask the pods of an Echo how often they have received a nonce, and maxLookups how many at
// most. With so many, it is unlikely that a pod is left out that the way chooses by chance.
const lookups, maxLookups = 4, 24

// examineRetries has the Echo respond with 503, and counts how often the way sends the request again.
func examineRetries(ctx context.Context, g *group) error {
	for _, each := range []struct{ fact, method string }{{"retries.get", "GET"}, {"retries.post", "POST"}} {
		attempts, err := countAttempts(ctx, g, each.method, "?echo.status=503&echo.failures=8")
		if err != nil {
			return err
		}
		g.add(decideRetries(each.fact, each.method, "503", attempts))
	}
	return nil
}

// countAttempts sends a request and returns how often the pods of the Echo have received it.
func countAttempts(ctx context.Context, g *group, method, query string) (int, error) {
	nonce := newNonce()
	pods := podCounts{}
	o, err := g.ask(ctx, &request{method: method, path: plainPath + query, nonce: nonce, fields: []field{{"X-Request-Id", nonce}}})
	if err != nil {
		return 0, err
	}
	if o.refusal == "" {
		pods.add(o.echo, o.attempt, true)
	}
	for number := 0; number < min(lookups*len(pods), maxLookups) || number < lookups; number++ {
		o, err := g.ask(ctx, &request{path: plainPath, nonce: nonce})
		if err != nil {
			return 0, err
		}
		if o.refusal == "" && !o.cached {
			pods.add(o.echo, o.attempt, false)
		}
	}
	return pods.total(), nil
}

// podCounts is how often each pod has received a request, without those that ask for it.
type podCounts map[string]int

// add counts what a pod has received according to its response. Only the first response of a pod tells, because each question counts, too.
func (c podCounts) add(e *echo, attempt int, isRequest bool) {
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

func decideRetries(name, method, fault string, attempts int) Fact {
	meaning := fmt.Sprintf("how often the way sends a request again that the Echo responds to with %s; an application must bear it", fault)
	received := strconv.Itoa(attempts) + " requests"
	if attempts == 0 {
		return newFact(name, "not told", method, received, meaning)
	}
	return newFact(name, strconv.Itoa(attempts-1), method, received, meaning)
}
