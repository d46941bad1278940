package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// lookups is the number of lookups for each known server, and maxLookups is the maximum total. With so many lookups, random load balancing
// is unlikely to miss a server.
const lookups, maxLookups = 6, 24

// lookUp asks the Echo's servers how many times they have received a nonce, until each server that has responded to a plain request has
// reported. It returns the reason if the number is not exact.
func (g *Group) lookUp(ctx context.Context, nonce string) (count int, notExact string, err error) {
	reported := map[string]int{}
	missing := map[string]bool{}
	for _, each := range g.Known.Samples {
		missing[each.Claims.Server] = true
	}
	for range min(lookups*len(missing), maxLookups) {
		var cookie []wire.Field // may lead to a missing server; load balancing avoids a server that is busy with other requests
		for server := range missing {
			cookie = g.cookie(server)
		}
		r, err := g.perform(ctx, experiment{once: true, probe: wire.Request{Path: "/-/arrivals?nonce=" + nonce, Fields: cookie},
			read: func(o Outcome) (string, string) { return Yes, "" }})
		if err != nil {
			return 0, "", err
		}
		var arrivals proof.Record
		o := r.outcome
		if r.value != Yes || o.Changed || o.Status != 200 || json.Unmarshal(o.Body, &arrivals) != nil {
			return 0, "the Echo does not report arrivals", nil //nolint:nilerr // it may be an older one
		}
		reported[arrivals.Server] = arrivals.Count
		if delete(missing, arrivals.Server); len(missing) == 0 {
			return total(reported), "", nil
		}
	}
	return total(reported), fmt.Sprintf("%d of the Echo's pods did not report", len(missing)), nil
}

// ExamineRetries makes the Echo respond with 503, and counts how many times a proxy sends the request again.
func ExamineRetries(ctx context.Context, g *Group) error {
	const query = "?echo.status=503&echo.failures=8"
	if err := g.examineRetries(ctx, "retries.get", "GET", query); err != nil {
		return err
	}
	return g.examineRetries(ctx, "retries.post", "POST", query) // not at the same time: with two pods in turn, each would look up at one pod
}

// examineRetries compares how many times the Echo receives a request that fails, and one that does not, which a proxy may mirror.
func (g *Group) examineRetries(ctx context.Context, fact, method, query string) error {
	x, counts := experiment{fact: fact, sent: method}, []int{}
	queries := []string{"?", query + "&", query + "&"} // one control, and two probes that must agree
	for tries := 0; len(counts) < len(queries); tries++ {
		if tries == 2*len(queries) { // errors may cost some
			return g.conclude(x, result{received: "errors: several requests did not arrive"}, nil)
		}
		nonce := wire.NewNonce()
		_, err := g.ask(ctx, g.Do, &wire.Request{Method: method, Nonce: nonce,
			Path:   PlainPath + queries[len(counts)] + nonce, // a new query, because the Echo counts the failures of each
			Fields: wire.Fields("X-Request-Id", nonce)})
		if err != nil {
			return err
		}
		count, notExact, err := g.lookUp(ctx, nonce)
		switch {
		case err != nil:
			return err
		case notExact != "":
			return g.conclude(x, result{received: notExact}, nil)
		case count > 0:
			counts = append(counts, count)
		}
	}
	extra := counts[1] - counts[0]
	if extra < 0 || counts[1] != counts[2] {
		differ := fmt.Sprintf("responses differ: %d, %d, and %d requests arrived", counts[0], counts[1], counts[2])
		return g.conclude(x, result{received: differ}, nil)
	}
	received := fmt.Sprintf("%d requests", counts[1])
	if counts[0] > 1 {
		received += fmt.Sprintf("; %d without a failure", counts[0])
	}
	return g.conclude(x, result{value: strconv.Itoa(extra), received: received}, nil)
}

// failures is the number of consecutive failures to cause in each pod. Most proxies stop using a pod after five.
const failures = 10

// ExamineOutlierDetection makes the Echo fail, and determines whether proxies stop using its pods. The group is opt-in, because other
// clients also need these pods.
func ExamineOutlierDetection(ctx context.Context, g *Group) error {
	if g.Known.Full {
		if err := g.examineRetries(ctx, "retries.reset", "GET", "?echo.connection=reset"); err != nil {
			return err
		}
	} else {
		g.Skip("retries.reset", "requests can make the Echo reset connections only with spec.server.controls: Full")
	}
	before := podsOf(g.Known.Samples...)
	x := experiment{fact: "outlierDetection",
		sent: fmt.Sprintf("%d requests for responses with status 503 to %d pods", failures*len(before), len(before))}
	// With so many requests, random load balancing does not miss a pod: (1-1/pods)^requests < chance.
	requests := max(failures, int(math.Ceil(math.Log(chance)/math.Log(1-1/float64(len(before))))))
	switch reason := g.Known.sampleTooSmall(); {
	case reason != "":
		return g.conclude(x, result{received: reason}, nil)
	case requests > maxOutlierRequests:
		return g.conclude(x, result{received: fmt.Sprintf("%d pods are too many", len(before))}, nil)
	}
	fail := func() *wire.Request { return &wire.Request{Path: PlainPath + "?echo.status=503"} }
	succeed := func() *wire.Request { return &wire.Request{Path: PlainPath + "?echo.status=200&" + wire.NewNonce()} }
	never := func() bool { return false }
	if _, err := g.reach(ctx, map[string]int{}, failures*len(before), fail, never); err != nil {
		return err
	}
	after := map[string]int{}
	refused, err := g.reach(ctx, after, requests, succeed, never)
	if err != nil {
		return err
	}
	if refused[refusedByCache] > 0 {
		return g.conclude(x, result{received: describeRefusal(refusedByCache)}, nil)
	}
	gone := len(before) - len(after)
	if g.Known.Plain.Description != nil { // it names the pod, as the later responses do
		maps.DeleteFunc(before, func(pod string, _ int) bool { return after[pod] > 0 })
		gone = len(before)
	}
	value, received := None, fmt.Sprintf("%d requests: %d arrived at %d pods", requests, total(after), len(after))
	switch needed := g.Engine.needed(1); {
	case len(after) == 0 && needed <= requests:
		value, received = "all", "no more responses from the Echo"
	case total(refused) > 0 && !g.Engine.explains(total(refused), requests):
		value, received = "some responses", received+"; "+describeCounts(refused)
	case gone > 0:
		value = strconv.Itoa(gone)
	}
	return g.conclude(x, result{value: value, received: received}, nil)
}

// maxOutlierRequests is the maximum number of requests that determine whether pods still respond.
const maxOutlierRequests = 80
