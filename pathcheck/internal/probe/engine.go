package probe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// chance is the probability above which errors may explain refused requests.
	chance = 1e-6
	// maxPairs is the maximum number of pairs that an experiment sends. With more errors than this number allows for, its fact is unknown.
	maxPairs = 20
	// maxLost is the number of consecutive controls without a response after which the Echo counts as gone.
	maxLost = 12
	// quickest is the time between requests unless requests are refused at this pace.
	quickest = 10 * time.Millisecond
	// slowest is the longest time between requests. At this pace, 300 requests take less than the default deadline.
	slowest = 320 * time.Millisecond
	// burst is the number of requests that are sent at once to find a rate limit.
	burst = 40
	// longestWait is the maximum time for which Retry-After delays a run.
	longestWait = 10 * time.Second
)

// Engine sends the requests of all groups, and keeps what their outcomes reveal about the path's errors. Calls can be concurrent.
type Engine struct {
	mutex    sync.Mutex     // protects the rest
	failed   int            // requests at the current pace that failed, although such requests arrive
	arrived  int            // requests at the current pace that arrived
	all      [2]int         // the same numbers for the whole run
	lost     int            // consecutive controls without a response
	refusals map[string]int // of controls
	recent   []bool         // whether the last requests arrived
	pace     time.Duration  // the time between requests
	next     time.Time      // when the next request may be sent
	slowed   time.Time      // when the pace became slower
}

func NewEngine() *Engine {
	return &Engine{refusals: map[string]int{}, pace: quickest}
}

// await waits until the pace allows the next request. Requests wait for each other, so that a slower pace applies to all of them.
func (e *Engine) await(ctx context.Context) error {
	for {
		e.mutex.Lock()
		wait := time.Until(e.next)
		if wait <= 0 {
			e.next = time.Now().Add(e.pace)
		}
		e.mutex.Unlock()
		if wait <= 0 {
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// record counts the outcomes of requests that arrive unless an error occurs.
func (e *Engine) record(arrived, failed int) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.arrived, e.failed = e.arrived+arrived, e.failed+failed
	e.all[0], e.all[1] = e.all[0]+arrived, e.all[1]+failed
}

// control counts the outcome of a control. It returns an error if the Echo no longer responds.
func (e *Engine) control(o Outcome) error {
	failed := map[bool]int{false: 1}[o.Arrived()]
	e.record(1-failed, failed)
	e.mutex.Lock()
	switch {
	case o.Arrived():
		e.lost = 0
	case e.slowed.Before(o.began): // at the present pace
		e.lost++
	}
	lost := e.lost
	if !o.Arrived() {
		e.refusals[o.Refusal]++
	}
	e.mutex.Unlock()
	if lost >= maxLost {
		return fmt.Errorf("the Echo no longer responds: %s", describeRefusal(o.Refusal))
	}
	if !o.Arrived() && !o.isLimited() { // otherwise, ask has called adapt
		e.adapt(o)
	}
	return nil
}

// adapt makes the pace slower if several of the last requests were refused, because requests at a lower pace may not be refused.
func (e *Engine) adapt(o Outcome) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	tolerated := 3 // of the last ten requests, because some errors have nothing to do with the pace
	switch {
	case o.isLimited(), o.Response != nil && !o.Arrived() && o.Header.Get("Retry-After") != "":
		tolerated = 0
		wait, _ := strconv.Atoi(o.Header.Get("Retry-After"))
		e.postpone(time.Now().Add(min(time.Duration(wait)*time.Second, longestWait)))
	case o.Refusal == "503" && e.slowed.IsZero(): // which is nginx's status for a limit
		tolerated = 1
	}
	if !e.slowed.Before(o.began) { // at another pace
		return
	}
	e.recent = append(e.recent, o.Arrived())
	e.recent = e.recent[max(0, len(e.recent)-10):]
	lost := len(slices.DeleteFunc(slices.Clone(e.recent), func(arrived bool) bool { return arrived }))
	if lost > tolerated && e.pace < slowest {
		e.pace, e.slowed = max(4*e.pace, slowest/4), time.Now()
		e.postpone(e.slowed.Add(10 * e.pace))     // the limit may apply to the last seconds
		e.arrived, e.failed, e.recent = 0, 0, nil // the errors at this pace are not known yet
		if tolerated < 3 {
			e.lost = 0
		}
	}
}

// postpone lets the next request wait until a time.
func (e *Engine) postpone(until time.Time) {
	if until.After(e.next) {
		e.next = until
	}
}

// Slowed returns when the pace became slower.
func (e *Engine) Slowed() time.Time {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.slowed
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

// explains reports whether errors alone may explain how many of several requests failed.
func (e *Engine) explains(failed, requests int) bool {
	return 1-atMost(failed-1, requests, upperBound(e.failed, e.failed+e.arrived)) >= chance
}

// upperBound returns the upper bound, at a confidence of 95 %, of the share of failures, given the failures among a number of requests
// (Clopper and Pearson, 1934).
func upperBound(failed, requests int) float64 {
	if failed >= requests {
		return 1
	}
	const steps = 1 << 30
	return float64(sort.Search(steps, func(i int) bool { return atMost(failed, requests, float64(i)/steps) <= 0.05 })) / steps
}

// atMost returns the probability of at most the given failures among a number of requests, given the share of requests that fail.
func atMost(failed, requests int, share float64) float64 {
	if share >= 1 {
		return 0 // all requests fail
	}
	term := math.Pow(1-share, float64(requests)) // the probability of no failure
	sum := term
	for k := 1; k <= failed; k++ {
		term *= float64(requests-k+1) / float64(k) * share / (1 - share)
		sum += term
	}
	return sum
}

// Afford returns how many requests a run can send until its deadline, given how many it has left, and how many it needs instead of one
// because of errors.
func (e *Engine) Afford(ctx context.Context, left int) (requests int, each float64) {
	each = 1
	if e.failed+e.arrived >= samples { // otherwise, the errors at this pace are not known yet
		each = max(1, (1+float64(min(e.needed(1), 10*maxPairs))/7)/2) // on a path without errors, 7 refusals are necessary at first
	}
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, int(time.Until(deadline)/e.pace))
	}
	if !e.slowed.IsZero() {
		left -= burst // for findLimit
	}
	return left, each
}

// ConcludePath reports what the requests of the other groups have revealed about the path.
func ConcludePath(ctx context.Context, g *Group) error {
	limit := g.findLimit(ctx)
	if limit.Value == "" {
		g.Unknown(limit.Name, limit.Received)
	} else {
		g.Add(limit)
	}
	g.Add(g.Known.Addresses...)
	e := g.Engine
	arrived, failed := e.all[0], e.all[1]
	if strings.HasPrefix(limit.Value, "refused") { // the limit explains the failures at the first pace
		arrived, failed = e.arrived, e.failed
	}
	percent := int(math.Ceil(100 * float64(failed) / float64(max(1, arrived+failed))))
	g.Add(Detail(NewFact("path.errors", strconv.Itoa(percent), fmt.Sprintf("%d requests that arrive unless an error occurs", arrived+failed),
		cmp.Or(describeCounts(e.refusals), None))))
	return nil
}

// findLimit sends requests at once if the run became slower because of refusals. A rate limit refuses them again.
func (g *Group) findLimit(ctx context.Context) Fact {
	const name = "rate.limit"
	e := g.Engine
	if e.slowed.IsZero() {
		return NewFact(name, NotFound, "", "no refusals that depend on the pace")
	}
	sent, slow := fmt.Sprintf("%d requests at once", burst), fmt.Sprintf("%d of %d requests that are %s apart are refused", e.failed,
		e.failed+e.arrived, e.pace)
	refused := map[string]int{}
	outcomes, err := inParallel(ctx, burst, func(ctx context.Context, _ int) (Outcome, error) {
		a, err := g.Do(ctx, plainRequest())
		return outcomeOf(a, err), over(ctx, err)
	})
	if err != nil {
		return unknown(name, "refusals before, but then: "+err.Error())
	}
	for _, o := range outcomes {
		if !o.Arrived() {
			refused[o.Refusal]++
		}
	}
	for _, refusal := range append([]string{"429", "503"}, slices.Sorted(maps.Keys(refused))...) { // limits usually have these statuses
		if count := refused[refusal]; !e.explains(count, burst) {
			return NewFact(name, "refused "+refusal, sent, fmt.Sprintf("%d of %s are refused; %s", count, sent, slow))
		}
	}
	return unknown(name, "errors: "+slow+"; "+sent+": "+cmp.Or(describeCounts(refused), None))
}
