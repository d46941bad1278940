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
	// atOnce is how many plans are carried out at once, each with an operator of its own.
	atOnce = 6
	// eachEvent is how many of the first events of a kind are tampered with, one in each plan.
	eachEvent = 3
)

// watchedKinds are the resources that the operator watches in a namespace.
func watchedKinds() []string {
	return []string{"echoes", "services", "deployments", "poddisruptionbudgets", "ingresses", "networkpolicies", "pods"}
}

// plan is one thing that is done to one event in a scenario.
type plan struct {
	scenario scenario
	tamperer *tamperer
}

func (p plan) String() string {
	return fmt.Sprintf("%s: event %d of %s is %s", p.scenario.name, p.tamperer.at, p.tamperer.resource, p.tamperer.name)
}

// TestWatches tampers with the events that the operator gets, one in each run of a scenario. Everything must be as without tampering
// when the scenario is over, and the operator has listed again if an event was lost.
func TestWatches(t *testing.T) {
	s := startServer(t)
	s.pods = true
	reference, plans := references(t, s)
	t.Logf("%d plans for %d scenarios", len(plans), len(reference))
	todo := make(chan plan)
	table := &outcomes{}
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for p := range todo {
				if problem := p.check(t.Context(), s, reference[p.scenario.name]); problem != "" {
					t.Errorf("%s: %s", p, problem)
					table.add(p, "violations")
				} else if _, hit := p.tamperer.counted(); hit {
					table.add(p, "plans")
				} else {
					table.add(p, "not reached")
				}
			}
		})
	}
	for _, p := range plans {
		todo <- p
	}
	close(todo)
	workers.Wait()
	t.Log(table)
}

// references runs each scenario without tampering. It returns what is stored at the end of each, and the plans.
func references(t *testing.T, s *server) (map[string]map[string]any, []plan) {
	t.Helper()
	reference := map[string]map[string]any{}
	var plans []plan
	for _, c := range scenarios() {
		var counting []*tamperer
		for _, resource := range watchedKinds() {
			counting = append(counting, &tamperer{scheme: s.client.Scheme(), resource: resource})
		}
		end, err := c.run(t.Context(), s, counting...)
		if err != nil {
			t.Fatalf("%s without tampering: %v", c.name, err)
		}
		reference[c.name] = end
		for _, counted := range counting {
			events, _ := counted.counted()
			for at := range min(events, eachEvent) {
				for _, how := range tamperings() {
					plans = append(plans, plan{c, &tamperer{tampering: how, scheme: s.client.Scheme(), resource: counted.resource, at: at + 1}})
				}
			}
		}
	}
	return reference, plans
}

// check carries out a plan. It returns what is wrong, and nothing if all is right.
func (p plan) check(ctx context.Context, s *server, want map[string]any) string {
	end, err := p.scenario.run(ctx, s, p.tamperer)
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(want, end)
}

// throughAll sends what lists or watches through some tamperers.
func throughAll(tamperers []*tamperer) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		for _, t := range tamperers {
			inner := next
			next = roundTripper(func(r *http.Request) (*http.Response, error) { return t.watched(inner, r) })
		}
		return next.RoundTrip(r)
	}
}

// outcomes counts plans by what was done, to which kind, and by scenario.
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

// String returns what was counted, as a table.
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
