package election

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// request is a request that a process sent. All times are relative to the start of the test. If a time is 0, the corresponding event did
// not happen.
type request struct {
	process    int
	verb, path string
	sent       time.Duration
	// arrived is the time when the API server received the request. answered is the time when the process received the response.
	arrived, answered time.Duration
	code              int
	// holder is the holder identity in a write to the lease.
	holder string
}

func (r request) String() string {
	seconds := func(t time.Duration) string {
		if t == 0 {
			return "never"
		}
		return fmt.Sprintf("%.3f", t.Seconds())
	}
	return fmt.Sprintf("process %d: sent %s, arrived %s, answered %s: %s %s %d %s", r.process, seconds(r.sent), seconds(r.arrived),
		seconds(r.answered), r.verb, r.path, r.code, r.holder)
}

func (r request) isLease() bool { return strings.Contains(r.path, "/leases") }

// isRenewal reports whether the request successfully wrote a holder to the lease.
func (r request) isRenewal() bool {
	return r.isLease() && r.isWrite() && r.code/100 == 2 && r.holder != ""
}

func (r request) isWrite() bool {
	return r.verb != "GET" && !strings.HasSuffix(r.path, "/events") && !strings.Contains(r.path, "/events/")
}

// isWork reports whether only the leader may send the request. Any replica may update the lease if the lease has not changed since the
// replica read it, and may send reviews, which change nothing.
func (r request) isWork() bool {
	return r.isWrite() && !r.isLease() && !strings.HasSuffix(r.path, "reviews")
}

// journal is the shared log of all links.
type journal struct {
	lock     sync.Mutex
	began    time.Time
	requests []*request
}

// write passes the time since the start of the test to a function that changes the journal.
func (j *journal) write(change func(now time.Duration)) {
	j.lock.Lock()
	defer j.lock.Unlock()
	change(time.Since(j.began))
}

// begin adds a request that the process has just sent.
func (j *journal) begin(r request) *request {
	j.write(func(now time.Duration) {
		r.sent = now
		j.requests = append(j.requests, &r)
	})
	return &r
}

// all returns the requests so far, in the order in which they were sent.
func (j *journal) all() []request {
	j.lock.Lock()
	defer j.lock.Unlock()
	copied := make([]request, 0, len(j.requests))
	for _, r := range j.requests {
		copied = append(copied, *r)
	}
	return copied
}

// leader returns the process that last wrote the lease, or 0 if that process released the lease.
func leader(requests []request) int {
	leads := 0
	for _, r := range byArrival(requests) {
		if r.isRenewal() {
			leads = r.process
		} else if isRelease(r) {
			leads = 0
		}
	}
	return leads
}

func isRelease(r request) bool {
	return r.isLease() && r.isWrite() && r.code/100 == 2 && r.holder == ""
}

// byArrival returns the requests that arrived, in order of arrival.
func byArrival(requests []request) []request {
	arrived := slices.DeleteFunc(slices.Clone(requests), func(r request) bool { return r.arrived == 0 })
	slices.SortStableFunc(arrived, func(a, b request) int { return cmp.Compare(a.arrived, b.arrived) })
	return arrived
}
