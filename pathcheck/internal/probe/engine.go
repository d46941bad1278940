package probe

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// chance is the probability above which errors may explain refused requests.
	chance = 1e-6
	// maxPairs is the maximum number of pairs that an experiment sends. With more errors than this number allows for, its fact is unknown.
	maxPairs = 14
	// maxLost is the number of consecutive controls without a response after which the Echo counts as gone.
	maxLost = 12
	// slowest is the longest time between requests. At this pace, 300 requests take less than the default deadline.
	slowest = 320 * time.Millisecond
)

// Engine sends the requests of all groups, and keeps what their outcomes reveal about the errors of the path. Callers can use it
// concurrently.
type Engine struct {
	mutex    sync.Mutex
	failed   int            // requests at the current pace that failed, although such requests arrive
	arrived  int            // requests at the current pace that arrived
	all      [2]int         // the same numbers for the whole run
	lost     int            // consecutive controls without a response
	refusals map[string]int // of controls
	recent   []bool         // whether the last controls arrived
	pace     time.Duration  // the time between requests
	next     time.Time      // when the next request may be sent
	slowed   time.Time      // when the pace became slower
}

// NewEngine returns an engine without a limit on the pace.
func NewEngine() *Engine { return &Engine{refusals: map[string]int{}} }

// await waits until the pace allows the next request.
func (e *Engine) await(ctx context.Context) error {
	e.mutex.Lock()
	now := time.Now()
	at := e.next
	if at.Before(now) {
		at = now
	}
	e.next = at.Add(e.pace)
	e.mutex.Unlock()
	if at.Equal(now) {
		return nil
	}
	select {
	case <-time.After(at.Sub(now)):
		return nil
	case <-ctx.Done():
		return DeadlineIn(ctx)
	}
}

// record counts the outcomes of requests that arrive unless an error occurs.
func (e *Engine) record(arrived, failed int) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.arrived, e.failed = e.arrived+arrived, e.failed+failed
	e.all[0], e.all[1] = e.all[0]+arrived, e.all[1]+failed
}

// control counts the outcome of a control. If several of the last controls were refused, control makes the pace slower, because requests
// at a lower pace may not be refused. It returns an error if the Echo no longer responds.
func (e *Engine) control(o Outcome, began time.Time) error {
	if o.Arrived() {
		e.record(1, 0)
	} else {
		e.record(0, 1)
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.recent = append(e.recent, o.Arrived())
	if len(e.recent) > 10 {
		e.recent = e.recent[1:]
	}
	if o.Arrived() {
		e.lost = 0
		return nil
	}
	e.lost++
	e.refusals[o.Refusal]++
	if e.lost >= maxLost {
		return fmt.Errorf("the Echo no longer responds: %s", describeRefusal(o.Refusal))
	}
	isLimit := o.Response != nil && (o.Status == http.StatusTooManyRequests || o.Header.Get("Retry-After") != "")
	lost := len(slices.DeleteFunc(slices.Clone(e.recent), func(arrived bool) bool { return arrived }))
	if (isLimit || lost >= 4) && e.pace < slowest && began.After(e.slowed) {
		e.pace = max(2*e.pace, slowest/16)
		e.slowed = time.Now()
		e.arrived, e.failed, e.recent = 0, 0, nil // the errors at this pace are not known yet
	}
	return nil
}

// needed returns how many refused probes errors alone would explain with a probability below chance. Each probe consists of the given number
// of requests.
func (e *Engine) needed(requests int) int {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	share := 1 - math.Pow(1-upperBound(e.failed, e.failed+e.arrived), float64(requests))
	if share >= 1 {
		return math.MaxInt
	}
	return max(2, int(math.Ceil(math.Log(chance)/math.Log(share))))
}

// upperBound returns the upper bound, at a confidence of 95 %, of the share of failures, given the failures among a number of requests
// (Clopper and Pearson, 1934).
func upperBound(failed, requests int) float64 {
	if failed >= requests {
		return 1
	}
	low, high := 0.0, 1.0
	for range 40 {
		share := (low + high) / 2
		term := math.Pow(1-share, float64(requests)) // the probability of no failure
		most := term                                 // the probability of at most the given failures
		for k := 1; k <= failed; k++ {
			term *= float64(requests-k+1) / float64(k) * share / (1 - share)
			most += term
		}
		if most > 0.05 {
			low = share
		} else {
			high = share
		}
	}
	return high
}

// Errors returns the share of requests that failed, although such requests arrive, as a fact.
func (e *Engine) Errors() Fact {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	failed, sent := e.all[1], e.all[0]+e.all[1]
	percent := int(math.Ceil(100 * float64(failed) / float64(max(1, sent))))
	return Detail(NewFact("path.errors", strconv.Itoa(percent), fmt.Sprintf("%d requests that arrive unless an error occurs", sent),
		cmp.Or(describeCounts(e.refusals), None)))
}
