package election

import (
	"fmt"
	"time"
)

// workTimeout is how long a leader may continue to work after its last successful renewal. client-go tries to renew after 2 s and gives up
// after another 10 s. The process then needs time to exit.
const workTimeout = 13 * time.Second

// verdict is the result of evaluating a log.
type verdict struct {
	violations []string
	// work counts writes by leaders. elections counts how often the leader changed.
	work, elections int
	// longest is the longest time between a write and the last successful renewal before it.
	longest time.Duration
}

// judge evaluates a log. Only a process that holds the lease may work.
func judge(requests []request) verdict {
	v := verdict{}
	for _, r := range requests {
		if r.isWork() {
			v.judgeSent(r, requests)
		}
	}
	holder := 0
	for _, r := range byArrival(requests) {
		switch {
		case isRelease(r):
			holder = 0
		case r.isRenewal():
			if r.process != holder {
				v.elections++
			}
			holder = r.process
		case r.isWork() && r.process != holder:
			v.violations = append(v.violations, fmt.Sprintf("it arrived while process %d was the leader: %s", holder, r))
		}
	}
	return v
}

// judgeSent records a violation if a write was sent too long after the last renewal.
func (v *verdict) judgeSent(work request, requests []request) {
	v.work++
	renewed := time.Duration(-1)
	for _, r := range requests {
		if r.process == work.process && r.isRenewal() && r.answered > 0 && r.answered <= work.sent {
			renewed = max(renewed, r.answered)
		}
	}
	since := work.sent - renewed
	switch {
	case renewed < 0:
		v.violations = append(v.violations, fmt.Sprintf("it was sent by a process that was never the leader: %s", work))
	case since > workTimeout:
		v.violations = append(v.violations, fmt.Sprintf("it was sent %s after the last renewal: %s", since, work))
	default:
		v.longest = max(v.longest, since)
	}
}
