package pathcheck

import (
	"context"
	"fmt"
	"strconv"
)

// failures is how many failures in a row should have a way stop using a pod, if it ever does. Most count to five.
const failures = 10

// examineEjection has the Echo fail, and finds out whether the way stops using its pods, which others also need. It is examined only if it is
// asked for.
func examineEjection(ctx context.Context, g *group) error {
	if g.known.full {
		attempts, err := countAttempts(ctx, g, "GET", "?echo.connection=reset")
		if err != nil {
			if over(ctx, err) == nil {
				g.add(newFact("ejection", "all", "a connection that is reset", "nothing: "+err.Error(), ejectionMeaning))
			}
			return err
		}
		g.add(decideRetries("retries.reset", "GET", "a reset of the connection", attempts))
	} else {
		g.skip("retries.reset", "requests cannot have the Echo reset a connection, which requires spec.server.controls: Full")
	}
	for range failures {
		if _, err := g.ask(ctx, &request{path: plainPath + "?echo.status=503"}); err != nil {
			return ejected(ctx, g, err)
		}
	}
	before, err := respondingPods(ctx, g, "?echo.status=503")
	if err != nil {
		return ejected(ctx, g, err)
	}
	after, err := respondingPods(ctx, g, "")
	if err == nil {
		g.add(decideEjection(before, after))
	}
	return err
}

// ejected adds the fact that the Echo no longer responds, which is why the group ends, unless it ends because the run is over.
func ejected(ctx context.Context, g *group, err error) error {
	if over(ctx, err) == nil {
		g.add(decideEjection(nil, nil))
	}
	return err
}

const ejectionMeaning = "whether the way stops using pods that respond with 503, or whose connections break, for a while"

// respondingPods returns which pods respond to some requests.
func respondingPods(ctx context.Context, g *group, query string) (*seen, error) {
	all := newSeen()
	for range failures {
		o, err := g.ask(ctx, &request{path: plainPath + query})
		if err != nil {
			return nil, err
		}
		all.add(o)
	}
	return all, nil
}

// decideEjection compares which pods responded while they failed and afterwards; nil means that none does any more.
func decideEjection(before, after *seen) Fact {
	const name = "ejection"
	sent := fmt.Sprintf("%d requests with the response 503", 2*failures)
	switch {
	case after == nil:
		return newFact(name, "all", sent, "no response of the Echo any more", ejectionMeaning)
	case len(after.pods) < len(before.pods):
		return newFact(name, strconv.Itoa(len(before.pods)-len(after.pods)), sent, describeCounts(before.pods)+"; then "+describeCounts(after.pods), ejectionMeaning)
	case before.responses+after.responses < 2*failures:
		return newFact(name, "some responses", sent, fmt.Sprintf("%d of %d responses", before.responses+after.responses, 2*failures), ejectionMeaning)
	}
	return newFact(name, none, sent, describeCounts(after.pods), ejectionMeaning)
}
