package reliability

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func everything() bool { return os.Getenv("RELIABILITY") == "all" }

// sweep runs each plan separately, and counts the plans.
type sweep struct {
	plans, violations, missed, requests, losses atomic.Int64
}

// tries returns the maximum number of runs of a plan if no request matches its fault. A request may match in another run, because the order
// of a few requests is random. If a plan has two faults, often no request matches the second fault.
func (p plan) tries() int {
	if len(p.faults) == 1 {
		return 3
	}
	return 1
}

// size returns the number of requests and events that a plan affects.
func (p plan) size() int {
	if p.tampered != nil {
		return len(p.faults) + 1
	}
	return len(p.faults)
}

// run runs a scenario with a plan, and repeats the run if no request matches the plan's fault.
func (w *sweep) run(t *testing.T, c scenario, p plan, reference outcome) {
	t.Helper()
	w.plans.Add(1)
	if p.amnesia == 0 {
		p.amnesia = amnesiaSeed(t)
	}
	t.Run(c.name+": "+p.String(), func(t *testing.T) {
		t.Parallel()
		for range p.tries() {
			if w.try(t, c, p, reference) == p.size() {
				return
			}
		}
		w.missed.Add(1)
	})
}

// try runs a scenario with a plan once, and compares the outcome with a run without faults. It returns the number of faults that happened.
func (w *sweep) try(t *testing.T, c scenario, p plan, reference outcome) int {
	t.Helper()
	var o outcome
	run(t, p, c, func(t *testing.T, s *simulation) {
		o = s.outcome()
		w.requests.Add(int64(len(o.order)))
		w.losses.Add(o.losses)
		problems := append(o.brokenPromises(), s.restWrites(t)...)
		if !p.promises() {
			problems = slices.Concat(problems, o.differences(reference), p.eventProblems(o, reference))
		}
		if len(problems) > 0 {
			w.violations.Add(1)
			t.Errorf("%s: %s\nwrites: %v", p, strings.Join(problems, "\n"), o.writes())
		}
	})
	return o.hits
}

// promises reports whether only the operator's promises can be checked at the end.
func (p plan) promises() bool {
	return slices.ContainsFunc(p.faults, func(f planned) bool { return f.promises })
}

// eventProblems returns the problems with the events of a run. No event may be sent twice, unless the operator forgot what it sent: because
// of amnesia, or because its process started with an outdated cache. No event may be lost, unless the operator did not receive a response.
func (p plan) eventProblems(o, reference outcome) []string {
	forgets, lost, visible := p.amnesia != 0, p.amnesia != 0, len(p.holds) > 0 || p.tampered != nil
	for _, f := range p.faults {
		forgets = forgets || f.old > 0
		lost = lost || f.crashes || f.stops || f.done
		visible = visible || f.visible || f.foreign != nil
	}
	if visible {
		return nil
	}
	var problems []string
	if !forgets {
		for _, event := range o.repeated(reference) {
			problems = append(problems, "event sent again: "+event)
		}
	}
	if !lost {
		for _, event := range o.lost(reference) {
			if len(p.faults) < 2 || event != "Normal DeleteRequested" { // the deletion may complete before the status can be written
				problems = append(problems, "event lost: "+event)
			}
		}
	}
	return problems
}

// references is the number of runs without faults, which must all end in the same state. The order of a few requests is random.
const references = 4

// referenceOf returns a scenario's outcome without faults. The outcome contains only requests that are common to all runs. Its events are
// from the run with the most, because a rollout that finishes before the operator notices it has none.
func referenceOf(t *testing.T, c scenario) outcome {
	t.Helper()
	var runs []outcome
	for range references {
		run(t, plan{}, c, func(_ *testing.T, s *simulation) { runs = append(runs, s.outcome()) })
	}
	first := slices.MaxFunc(runs, func(a, b outcome) int { return len(a.events) - len(b.events) })
	for _, other := range runs {
		if problems := append(other.brokenPromises(), other.differences(first)...); len(problems) > 0 {
			t.Fatalf("two runs of %s without faults end differently: %s", c.name, strings.Join(problems, "\n"))
		}
		first.order = slices.DeleteFunc(first.order, func(at place) bool { return !slices.Contains(other.order, at) })
	}
	return first
}

// TestScenarios runs each scenario without faults. Regardless of earlier changes to the spec and other clients' edits, the scenario must
// end as if the Echo had been created with its final spec.
func TestScenarios(t *testing.T) {
	all, ends := slices.Concat(basics(), others()), map[string]outcome{}
	for _, c := range all {
		run(t, plan{}, c, func(t *testing.T, s *simulation) {
			ends[c.name] = s.outcome()
			for _, problem := range append(ends[c.name].brokenPromises(), s.restWrites(t)...) {
				t.Errorf("%s: %s", c.name, problem)
			}
		})
	}
	for _, c := range all {
		reference := ends[c.name]
		if c.like != "" {
			reference = ends[c.like]
		}
		if problems := ends[c.name].differences(reference); problems != nil {
			t.Errorf("%s: %s", c.name, strings.Join(problems, "\n"))
		}
		if _, left := ends[c.name].state[echoKey.String()]; left == c.gone {
			t.Errorf("%s: an Echo exists at the end: %t", c.name, left)
		}
	}
}

// TestSingleFaults runs scenarios with each fault at each request. It also runs them with each watch held back, starting at each change.
func TestSingleFaults(t *testing.T) {
	tried, faults := basics(), slices.Concat(refusals, crashes, losses)
	if everything() {
		tried, faults = slices.Concat(tried, others()), slices.Concat(faults, foreigners())
	}
	w := &sweep{}
	t.Run("plans", func(t *testing.T) {
		for _, c := range tried {
			reference := referenceOf(t, c)
			for _, p := range singles(faults, reference) {
				w.run(t, c, p, reference)
			}
		}
	})
	w.report(t, len(faults)+len(lags), len(tried))
}

// report prints the numbers of plans, faults, and violations.
func (w *sweep) report(t *testing.T, faults, scenarios int) {
	t.Helper()
	t.Logf(
		"%d plans, %d faults, %d scenarios, %d violations, %d plans with a fault that found no request, %d requests, %d memories lost",
		w.plans.Load(), faults, scenarios, w.violations.Load(), w.missed.Load(), w.requests.Load(), w.losses.Load())
}

// lags lists how far the tests hold back a watch, as a number of changes. 0 means that the watch reports no further changes.
var lags = []int{0, 1, 2}

// singles returns the plans with a single fault.
func singles(faults []fault, reference outcome) []plan {
	var plans []plan
	for _, at := range reference.order {
		for _, f := range faults {
			if f.applies(at) {
				plans = append(plans, plan{faults: []planned{{f, at}}})
			}
		}
	}
	changes := map[string]int{}
	for _, change := range reference.log {
		changes[change.resource]++
		for _, lag := range lags {
			plans = append(plans, plan{holds: []hold{{change.resource, changes[change.resource], lag}}})
		}
	}
	return plans
}

// TestPairsOfFaults runs the basic scenarios with a fault at each request. It combines each fault with a second fault at each of the
// following requests, or with a held-back watch.
func TestPairsOfFaults(t *testing.T) {
	if !everything() {
		t.Skip("set RELIABILITY=all to run this test")
	}
	w := &sweep{}
	t.Run("plans", func(t *testing.T) {
		for _, c := range basics() {
			reference := referenceOf(t, c)
			for _, p := range pairs(reference) {
				w.run(t, c, p, reference)
			}
		}
	})
	w.report(t, len(paired())+1, len(basics()))
}

// reach is the maximum number of requests from the first fault to the second fault.
const reach = 12

// paired returns the faults that are tried in pairs, or together with a held-back watch.
func paired() []fault {
	var some []fault
	for _, f := range slices.Concat(refusals, crashes, losses) {
		if f.name == "409" || f.name == "crash after" || f.name == "no response after" {
			some = append(some, f)
		}
	}
	return some
}

// pairs returns the plans with two faults.
func pairs(reference outcome) []plan {
	var plans []plan
	for _, first := range singles(paired(), reference) {
		for _, second := range paired() {
			for after := 1; after <= reach && first.holds == nil; after++ {
				plans = append(plans, plan{faults: append(slices.Clone(first.faults), planned{second, place{nth: after}})})
			}
		}
		for _, held := range singles(nil, reference) {
			if first.holds == nil && held.holds[0].lag == 0 {
				plans = append(plans, plan{faults: first.faults, holds: held.holds})
			}
		}
	}
	return plans
}
