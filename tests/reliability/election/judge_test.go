package election

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// workTimeout is how long a leader may continue to work after its last successful renewal. client-go tries to renew after 2 s and gives up
// after another 10 s. The process then needs time to exit.
const workTimeout = 13 * time.Second

// request is a request that a process sent.
type request struct {
	process    int
	verb, path string
	// holder is the holder identity in a write to the lease.
	holder string
	// since is the time between the last response to a renewal and the request.
	since time.Duration
	// arrived is when the API server received the request, since the start of the test. It is 0 if the request did not arrive.
	arrived time.Duration
	code    int
}

func (r request) isLease() bool { return strings.Contains(r.path, "/leases") }

// isElection reports whether the request successfully wrote the lease. If it wrote no holder, it released the lease.
func (r request) isElection() bool { return r.isLease() && r.verb != "GET" && r.code/100 == 2 }

// isWork reports whether only the leader may send the request. Any replica may update the lease if the lease has not changed since the
// replica read it, and may send reviews, which change nothing. Events are exempt.
func (r request) isWork() bool {
	return r.verb != "GET" && !r.isLease() && !strings.Contains(r.path+"/", "/events/") && !strings.HasSuffix(r.path, "reviews")
}

// verdict is the result of evaluating requests.
type verdict struct {
	violations []string
	// leader is the process that holds the lease at the end, or 0. elections counts how often the leader changed.
	leader, elections int
	// longest is the longest time between a write and the last successful renewal before it.
	longest time.Duration
}

// judge evaluates requests. Only a process that holds the lease may work.
func judge(requests []request) verdict {
	v := verdict{}
	slices.SortStableFunc(requests, func(a, b request) int { return cmp.Compare(a.arrived, b.arrived) })
	for _, r := range requests {
		if r.isWork() {
			v.longest = max(v.longest, r.since)
		}
		switch {
		case r.isWork() && r.since > workTimeout:
			v.violations = append(v.violations, fmt.Sprintf("it was sent too late: %+v", r))
		case r.isWork() && r.arrived > 0 && r.process != v.leader:
			v.violations = append(v.violations, fmt.Sprintf("it arrived while process %d was the leader: %+v", v.leader, r))
		case r.isElection() && r.holder == "":
			v.leader = 0
		case r.isElection() && r.process != v.leader:
			v.leader, v.elections = r.process, v.elections+1
		}
	}
	return v
}

func TestJudge(t *testing.T) {
	renewal := func(process int) request {
		return request{process: process, verb: "PUT", path: "/leases/x", holder: "a", code: 200}
	}
	work := func(process int, since time.Duration) request {
		return request{process: process, verb: "PATCH", path: "/deployments/x", since: since * time.Second}
	}
	refused, release, event, review := renewal(2), renewal(1), work(2, 1), work(2, 1)
	refused.code, release.holder, event.path, review.path = 409, "", "/events", "/selfsubjectaccessreviews"
	for name, c := range map[string]struct {
		log        []request
		violations int
	}{
		"in time":               {[]request{renewal(1), work(1, 13), event, review}, 0},
		"too late":              {[]request{renewal(1), work(1, 14)}, 1},
		"never elected":         {[]request{work(1, 1)}, 1},
		"not elected":           {[]request{renewal(1), refused, work(1, 1), work(2, 1)}, 1},
		"another leader":        {[]request{renewal(1), renewal(2), work(1, 1), work(2, 1)}, 1},
		"released":              {[]request{renewal(1), release, work(1, 1)}, 1},
		"released and acquired": {[]request{renewal(1), work(1, 1), release, renewal(2), work(2, 1)}, 0},
	} {
		for i := range c.log {
			c.log[i].arrived = time.Duration(i + 1)
		}
		if got := judge(c.log).violations; len(got) != c.violations {
			t.Errorf("%s: %q", name, got)
		}
	}
}
