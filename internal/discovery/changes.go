package discovery

import (
	"fmt"
	"slices"
	"time"
)

// Times determines when the operator asks a cluster, and when it may restart.
type Times struct {
	// Period is the time between two questions.
	Period time.Duration
	// Rest is the least time for which a process runs, so that APIs that come and go do not keep the operator from its work.
	Rest time.Duration
}

// DefaultTimes returns the times that the operator uses.
func DefaultTimes() Times { return Times{Period: time.Minute, Rest: 10 * time.Minute} }

const (
	// responses is how many responses in a row must show the same change before a replica restarts.
	responses = 2
	// leaderResponses is the number for the leader. It is higher, so that another replica is ready to take over.
	leaderResponses = 3
)

// Next returns the first time after now at which to ask. Periods begin at the same times in all replicas.
func (t Times) Next(now time.Time) time.Time {
	return time.Unix(0, (now.UnixNano()/int64(t.Period)+1)*int64(t.Period))
}

// mayEnd reports whether a replica may end in the period that begins at a time. Leaders end in even periods and other replicas in odd ones,
// so that two never end at once, whenever they started and whatever they saw.
func (t Times) mayEnd(at time.Time, leads bool) bool {
	even := at.UnixNano()/int64(t.Period)%2 == 0
	return even == leads
}

// Changes determines when the operator must restart, because what a cluster offers has permanently changed since the start. It sends no
// requests and reads no clock.
type Changes struct {
	Times
	// Began is the time at which the process started.
	Began time.Time
	// Start holds what the cluster offered at that time.
	Start Offer

	seen  []string // the changes that the last response showed
	count int      // how many responses in a row showed them
	led   bool     // whether the replica led then
}

// pending reports whether the last response showed a change.
func (c *Changes) pending() bool { return c.count > 0 }

// forget drops the changes seen so far and restarts the count, as when the cluster was not asked or gave no response.
func (c *Changes) forget() { c.seen, c.count = nil, 0 }

// add adds what the cluster offers at a time, among the kinds that were requested. It returns the changes for which the process must end
// now, none if it continues. The count restarts when the replica becomes the leader, because the last leader has just ended.
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

// since describes, in sorted order, what differs from the start.
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
