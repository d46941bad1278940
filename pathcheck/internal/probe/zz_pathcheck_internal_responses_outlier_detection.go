package probe

import (
	"context"
	"fmt"
	"strconv"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// failures is the number of consecutive failures to cause. Most proxies stop using a pod after five.
const failures = 10

// ExamineOutlierDetection makes the Echo fail, and determines whether proxies stop using its pods. The group is opt-in, because other
// clients also need these pods.
func ExamineOutlierDetection(ctx context.Context, g *Group) error {
	if g.Known.Full {
		attempts, err := countAttempts(ctx, g, "GET", "?echo.connection=reset")
		if err != nil {
			if Over(ctx, err) == nil {
				g.Add(NewFact("outlierDetection", "all", "a connection that is reset", "nothing: "+err.Error()))
			}
			return err
		}
		g.Add(decideRetries("retries.reset", "GET", attempts))
	} else {
		g.Skip("retries.reset", "requests can make the Echo reset connections only with spec.server.controls: Full")
	}
	for range failures {
		if _, err := g.Ask(ctx, &wire.Request{Path: PlainPath + "?echo.status=503"}); err != nil {
			return noMoreResponses(ctx, g, err)
		}
	}
	before, err := respondingPods(ctx, g, "?echo.status=503")
	if err != nil {
		return noMoreResponses(ctx, g, err)
	}
	after, err := respondingPods(ctx, g, "?echo.status=200")
	if err == nil {
		g.Add(decideOutlierDetection(before, after))
	}
	return err
}

// noMoreResponses adds the fact that the Echo no longer responds, unless the run is over.
func noMoreResponses(ctx context.Context, g *Group, err error) error {
	if Over(ctx, err) == nil {
		g.Add(decideOutlierDetection(nil, nil))
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
