package discovery

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func route() schema.GroupVersionKind { return schema.FromAPIVersionAndKind("example.com/v1", "Route") }
func gate() schema.GroupVersionKind  { return schema.FromAPIVersionAndKind("example.com/v1", "Gate") }

// begin is the start of an even period.
func begin() time.Time { return time.Unix(0, 0) }

// respond records a response about Route. The letter is the first letter of the access in the response, except that s stands for Usable.
// "-" stands for no query, and "!" stands for a failed query.
func respond(c *Changes, letter rune, at time.Time, leads bool) []string {
	access := map[rune]Access{'u': Unknown, 'n': NotServed, 'f': Forbidden, 's': Usable}[letter]
	if access == "" {
		c.forget()
		return nil
	}
	return c.add(at, leads, Offer{route(): {Access: access}})
}

// TestChanges gives a process one response per minute, beginning in an even period.
func TestChanges(t *testing.T) {
	for name, c := range map[string]struct {
		start     Access
		responses string
		rest      int
		leads     bool
		ends      int // the minute in which the process exits, or -1 if it never exits
		changes   string
	}{
		"nothing changes":                        {NotServed, "nnnnnn", 0, false, -1, ""},
		"a kind appears":                         {NotServed, "nsssss", 0, false, 3, "Route.example.com: not served at startup, usable now"},
		"a kind appears, in an odd minute":       {NotServed, "ssssss", 0, false, 1, "Route.example.com: not served at startup, usable now"},
		"a kind appears, and this is the leader": {NotServed, "nsssss", 0, true, 4, "Route.example.com: not served at startup, usable now"},
		"the same, in an even minute":            {NotServed, "ssssss", 0, true, 2, "Route.example.com: not served at startup, usable now"},
		"a kind vanishes":                        {Usable, "snnnnn", 0, false, 3, "Route.example.com: usable at startup, not served now"},
		"a right is granted":                     {Forbidden, "fsssss", 0, false, 3, "Route.example.com: forbidden at startup, usable now"},
		"a right is lost":                        {Usable, "sfffff", 0, false, 3, "Route.example.com: usable at startup, forbidden now"},
		"a kind appears without the right": {NotServed, "nfffff", 0, false, 3,
			"Route.example.com: not served at startup, forbidden now"},
		"an unknown kind becomes known":        {Unknown, "nnnnnn", 0, false, 1, "Route.example.com: unknown at startup, not served now"},
		"once is not enough":                   {NotServed, "snsnsn", 0, false, -1, ""},
		"twice is not enough for the leader":   {NotServed, "ssnssn", 0, true, -1, ""},
		"a failed response restarts the count": {NotServed, "s!s!s!", 0, false, -1, ""},
		"a minute without a query restarts it": {NotServed, "s-s-s-", 0, false, -1, ""},
		"another change restarts it":           {NotServed, "sfsfsf", 0, false, -1, ""},
		"failures alone":                       {NotServed, "!!!!!!", 0, false, -1, ""},
		"a kind appears after a failure":       {NotServed, "s!ssss", 0, false, 3, "Route.example.com: not served at startup, usable now"},
		"a kind appears soon after the start": {NotServed, "ssssssss", 6, false, 7,
			"Route.example.com: not served at startup, usable now"},
		"the same, and this is the leader": {NotServed, "ssssssss", 5, true, 6, "Route.example.com: not served at startup, usable now"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			changes := Changes{Times: Times{Period: time.Minute, Rest: time.Duration(c.rest) * time.Minute}, Began: begin(),
				Start: Offer{route(): {Access: c.start}, gate(): {Access: Usable}}}
			ends, why := -1, []string(nil)
			for minute, letter := range c.responses {
				if why = respond(&changes, letter, begin().Add(time.Duration(minute)*time.Minute), c.leads); len(why) > 0 {
					ends = minute
					break
				}
			}
			g.Expect(ends).To(Equal(c.ends))
			g.Expect(strings.Join(why, ", ")).To(Equal(c.changes))
		})
	}
}

func TestChanges_describesEachChange(t *testing.T) {
	changes := Changes{Times: DefaultTimes(), Start: Offer{route(): {Access: Usable}}}
	now := Offer{route(): {Access: NotServed}, gate(): {Access: Usable}}
	changes.Start[gate()] = Finding{Access: Forbidden}
	want := []string{"Gate.example.com: forbidden at startup, usable now", "Route.example.com: usable at startup, not served now"}
	NewWithT(t).Expect(changes.since(now)).To(HaveExactElements(want))
}

// replica is a series of processes. Each process starts a moment after the previous one exits.
type replica struct {
	Changes
	leads bool
	ended []time.Time
}

// TestChanges_neverEndsReplicasTogether makes an API appear and disappear at random for two replicas that started at random times. Either
// replica can be the leader.
func TestChanges_neverEndsReplicasTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	for range 300 {
		times, start := DefaultTimes(), begin().Add(time.Hour)
		replicas := []*replica{{leads: true}, {}}
		for _, r := range replicas {
			r.Changes = Changes{Times: times, Began: start.Add(-time.Duration(random.IntN(3600)) * time.Second),
				Start: Offer{route(): {Access: NotServed}}}
		}
		offer, changeIn := NotServed, 0
		for at := times.Next(start); at.Before(start.Add(6 * time.Hour)); at = times.Next(at) {
			if changeIn--; changeIn < 0 {
				offer, changeIn = []Access{NotServed, Usable, Forbidden}[random.IntN(3)], random.IntN(40)
			}
			for _, r := range replicas {
				if changes := r.add(at, r.leads, Offer{route(): {Access: offer}}); len(changes) > 0 {
					r.Changes = Changes{Times: times, Began: at.Add(3 * time.Second), Start: Offer{route(): {Access: offer}}}
					r.ended = append(r.ended, at)
					if r.leads { // the other replica takes over
						replicas[0].leads, replicas[1].leads = replicas[1].leads, replicas[0].leads
					}
				}
			}
		}
		expectApart(t, times, replicas)
	}
}

// expectApart checks that replicas exited at least one period apart, and that each replica ran for at least the minimum time.
func expectApart(t *testing.T, times Times, replicas []*replica) {
	t.Helper()
	if len(replicas[0].ended) == 0 || len(replicas[1].ended) == 0 {
		t.Fatal("a replica never ended")
	}
	for _, one := range replicas[0].ended {
		for _, other := range replicas[1].ended {
			if apart := one.Sub(other).Abs(); apart < times.Period {
				t.Errorf("replicas ended %s apart", apart)
			}
		}
	}
	for _, r := range replicas {
		for i := 1; i < len(r.ended); i++ {
			if lived := r.ended[i].Sub(r.ended[i-1]); lived < times.Rest {
				t.Errorf("a replica ended after %s", lived)
			}
		}
	}
}
