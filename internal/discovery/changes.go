package discovery

import (
	"fmt"
	"slices"
	"time"
)

// Times determines when the operator queries a cluster, and when it may restart.
type Times struct {
	// Period is the time between two queries.
	Period time.Duration
	// Rest is the minimum time that a process runs before it exits because of a change. It lets the operator do its work even if APIs appear
	// and disappear often.
	Rest time.Duration
}

// DefaultTimes returns the times that the operator uses.
func DefaultTimes() Times { return Times{Period: time.Minute, Rest: 10 * time.Minute} }

const (
	// responses is the number of consecutive responses that must show the same change before a replica restarts.
	responses = 2
	// leaderResponses is the same number for the leader, which waits longer so that another replica is ready to take over.
	leaderResponses = 3
)

// Next returns the first time after now at which the operator queries the cluster. Periods begin at the same times in all replicas.
func (t Times) Next(now time.Time) time.Time {
	return time.Unix(0, (now.UnixNano()/int64(t.Period)+1)*int64(t.Period))
}

// mayEnd reports whether a replica may exit in the period that begins at a given time. The leader exits only in even periods, and another
// replica exits only in odd periods, so that the two never exit at the same time.
func (t Times) mayEnd(at time.Time, leads bool) bool {
	even := at.UnixNano()/int64(t.Period)%2 == 0
	return even == leads
}

// Changes determines when the operator must restart because the APIs that the cluster offers have changed permanently since startup. It
// sends no requests and reads no clock.
type Changes struct {
	Times
	// Began is the time at which the process started.
	Began time.Time
	// Start holds what the process found when it started.
	Start Offer

	seen  []string // the changes in the last response
	count int      // how many consecutive responses showed these changes
	led   bool     // whether the replica was the leader at the last response
}

// pending reports whether the last response showed a change.
func (c *Changes) pending() bool { return c.count > 0 }

// forget restarts the count after a period in which the cluster was not queried or gave no response.
func (c *Changes) forget() { c.seen, c.count = nil, 0 }

// add records a response from the cluster. It returns the changes that require the process to exit now, or none if the process continues.
// The count restarts when the replica becomes the leader, because the previous leader has just exited.
func (c *Changes) add(at time.Time, leads bool, now Offer) []string {
	changes := c.since(now)
	if len(changes) == 0 || !slices.Equal(changes, c.seen) || leads != c.led {
		c.seen, c.count, c.led = changes, 0, leads
	}
	if len(changes) == 0 {
		return nil
	}
	c.count++
	required := responses
	if leads {
		required = leaderResponses
	}
	if c.count < required || at.Sub(c.Began) < c.Rest || !c.mayEnd(at, leads) {
		return nil
	}
	return changes
}

// since describes, in sorted order, how an offer differs from the offer at startup.
func (c *Changes) since(now Offer) []string {
	var changes []string
	for kind, found := range now {
		if was := c.Start[kind].Access; was != found.Access {
			changes = append(changes, fmt.Sprintf("%s: %s at startup, %s now", kind.GroupKind(), was, found.Access))
		}
	}
	slices.Sort(changes)
	return changes
}
