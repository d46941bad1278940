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
	// Rest is the minimum time for which a process runs. It lets the operator work even if APIs appear and disappear often.
	Rest time.Duration
}

// DefaultTimes returns the times that the operator uses.
func DefaultTimes() Times { return Times{Period: time.Minute, Rest: 10 * time.Minute} }

const (
	// responses is how many responses in a row must show the same change before a replica restarts.
	responses = 2
	// leaderResponses is the number for the leader. It is higher so that another replica is ready to take over.
	leaderResponses = 3
)

// Next returns the first time after now at which to query the cluster. Periods begin at the same times in all replicas.
func (t Times) Next(now time.Time) time.Time {
	return time.Unix(0, (now.UnixNano()/int64(t.Period)+1)*int64(t.Period))
}

// mayEnd reports whether a replica may exit in the period that begins at a given time. Leaders exit in even periods and other replicas in
// odd ones. Two replicas therefore never exit at the same time, regardless of when they started and which responses they received.
func (t Times) mayEnd(at time.Time, leads bool) bool {
	even := at.UnixNano()/int64(t.Period)%2 == 0
	return even == leads
}

// Changes determines when the operator must restart because the cluster's offer has changed permanently since the start. It sends no
// requests and reads no clock.
type Changes struct {
	Times
	// Began is the time at which the process started.
	Began time.Time
	// Start holds the findings about the cluster at that time.
	Start Offer

	seen  []string // the changes in the last response
	count int      // how many responses in a row showed them
	led   bool     // whether the replica was the leader then
}

// pending reports whether the last response showed a change.
func (c *Changes) pending() bool { return c.count > 0 }

// forget drops the changes seen so far and restarts the count. It is for periods in which the cluster was not queried or gave no response.
func (c *Changes) forget() { c.seen, c.count = nil, 0 }

// add records the cluster's response at a given time about the kinds in the query. It returns the changes that require the process to exit
// now, or none if the process continues. The count restarts when the replica becomes the leader, because the previous leader has just
// exited.
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

// since describes the differences from the start, in sorted order.
func (c *Changes) since(now Offer) []string {
	var changes []string
	for kind, found := range now {
		if was := c.Start[kind].Access; was != found.Access {
			changes = append(changes, fmt.Sprintf("%s: %s at the start, %s now", kind.GroupKind(), was, found.Access))
		}
	}
	slices.Sort(changes)
	return changes
}
