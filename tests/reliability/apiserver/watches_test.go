package apiserver

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	// atOnce is the number of plans that run concurrently. Each plan has its own operator.
	atOnce = 8
	// For each kind, the plans tamper with the first event or one of the last lastEvents events.
	lastEvents = 3
)

// watchedKinds returns the resources that the operator watches in a namespace.
func watchedKinds() []string {
	return []string{"echoes", "services", "deployments", "poddisruptionbudgets", "ingresses", "networkpolicies", "pods"}
}

// plan is a scenario in which one event is tampered with.
type plan struct {
	scenario scenario
	tamperer *tamperer
}

func (p plan) String() string {
	return fmt.Sprintf("%s: event %d of %s is %s", p.scenario.name, p.tamperer.at, p.tamperer.resource, p.tamperer.name)
}

// TestWatches tampers with one watch event in each run of a scenario. If the operator may have missed a change, the test makes it list the
// objects again. The final state must be the same as without tampering.
func TestWatches(t *testing.T) {
	s := startServer(t)
	s.pods = true
	table := &outcomes{}
	for _, c := range scenarios() {
		t.Run(c.name, func(t *testing.T) {
			want, plans := reference(t, s, c)
			carryOut(plans, func(p plan) {
				if problem := p.check(t.Context(), s, want); problem != "" {
					t.Errorf("%s: %s", p, problem)
					table.add(p, "violations")
				} else if _, hit := p.tamperer.counted(); hit {
					table.add(p, "plans")
				} else {
					table.add(p, "not reached")
				}
			})
		})
	}
	t.Log(table)
}

// carryOut runs plans concurrently.
func carryOut(plans []plan, do func(plan)) {
	todo := make(chan plan)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for p := range todo {
				do(p)
			}
		})
	}
	for _, p := range plans {
		todo <- p
	}
	close(todo)
	workers.Wait()
}

// reference runs a scenario without tampering. It returns the final state and the plans for the scenario.
func reference(t *testing.T, s *server, c scenario) (map[string]any, []plan) {
	t.Helper()
	var counting []*tamperer
	for _, resource := range watchedKinds() {
		counting = append(counting, &tamperer{scheme: s.client.Scheme(), resource: resource})
	}
	end, err := c.run(t.Context(), s, counting...)
	if err != nil {
		t.Fatal(err)
	}
	var plans []plan
	for _, counted := range counting {
		events, _ := counted.counted()
		for at := 1; at <= events; at++ {
			if at > 1 && at <= events-lastEvents {
				continue
			}
			for _, how := range tamperings() {
				plans = append(plans, plan{c, &tamperer{tampering: how, scheme: s.client.Scheme(), resource: counted.resource, at: at}})
			}
		}
	}
	return end, plans
}

// check carries out a plan, and returns a description of the problem, or "" if there is none.
func (p plan) check(ctx context.Context, s *server, want map[string]any) string {
	end, err := p.scenario.run(ctx, s, p.tamperer)
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(want, end)
}

// throughAll passes list and watch requests through several tamperers.
func throughAll(tamperers []*tamperer) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		for _, t := range tamperers {
			inner := next
			next = roundTripper(func(r *http.Request) (*http.Response, error) { return t.watched(inner, r) })
		}
		return next.RoundTrip(r)
	}
}

// outcomes counts plans by type of tampering, kind, and scenario.
type outcomes struct {
	lock   sync.Mutex
	counts map[string]map[string]int
	total  map[string]int
}

func (o *outcomes) add(p plan, outcome string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.counts == nil {
		o.counts, o.total = map[string]map[string]int{}, map[string]int{}
	}
	o.total[outcome]++
	for _, row := range []string{"an event " + p.tamperer.name, "in " + p.tamperer.resource, "scenario " + p.scenario.name} {
		if o.counts[row] == nil {
			o.counts[row] = map[string]int{}
		}
		o.counts[row][outcome]++
	}
}

// String returns the counts as a table.
func (o *outcomes) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	text := &strings.Builder{}
	line := func(counts map[string]int, name string) {
		fmt.Fprintf(text, "\n%7d %11d %10d  %s", counts["plans"], counts["not reached"], counts["violations"], name)
	}
	fmt.Fprintf(text, "\n%7s %11s %10s", "plans", "not reached", "violations")
	for _, row := range slices.Sorted(maps.Keys(o.counts)) {
		line(o.counts[row], row)
	}
	line(o.total, "in all")
	return text.String()
}
