package operator

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// scenario is the state of the cluster and the caches that a supervisor finds. Its functions receive the time since the start.
type scenario struct {
	namespaces []string
	missing    missingRights
	now        func(time.Duration) (missingRights, error)
	filled     func(time.Duration) bool

	asked []string
}

func (s *scenario) supervisor(began time.Time) supervisor {
	return supervisor{
		namespaces: s.namespaces,
		missing:    s.missing,
		apis:       unrequired(began),
		log:        logr.Discard(),
		ask: func(_ context.Context, namespaces []string) (missingRights, error) {
			s.asked = append(s.asked, strings.Join(namespaces, ","))
			return s.now(time.Since(began))
		},
		pending: func() []string {
			if s.filled(time.Since(began)) {
				return nil
			}
			return []string{"v1.Echo", "v1.Pod"}
		},
	}
}

// unrequired returns a watch that does not ask about any API.
func unrequired(began time.Time) *apiWatch {
	return &apiWatch{
		period:   time.Minute,
		began:    began,
		ask:      func(context.Context, []optionalKind) (findings, error) { return nil, nil },
		required: func(context.Context) func(optionalKind) bool { return func(optionalKind) bool { return false } },
	}
}

func always(time.Duration) bool { return true }
func never(time.Duration) bool  { return false }

func rights(missing missingRights) func(time.Duration) (missingRights, error) {
	return func(time.Duration) (missingRights, error) { return missing, nil }
}

func TestSupervisor(t *testing.T) {
	noB := missingRights{"b": {"list pods"}}
	ab := []string{"a", "b"}
	given := func(after time.Duration) (missingRights, error) {
		if after < 100*time.Second {
			return noB, nil
		}
		return missingRights{}, nil
	}
	unanswered := func(after time.Duration) (missingRights, error) {
		if after < 100*time.Second {
			return nil, errors.New("no response")
		}
		return missingRights{}, nil
	}
	late := func(after time.Duration) bool { return after > 40*time.Second }
	const hour, minute = time.Hour - time.Second, time.Minute // the test stops the supervisor before the hour is over
	for name, c := range map[string]struct {
		scenario scenario
		ends     time.Duration
		failure  string
		asked    string
	}{
		"everything is there":          {scenario{namespaces: ab, now: rights(nil), filled: always}, hour, "", ""},
		"filled later":                 {scenario{namespaces: ab, now: rights(nil), filled: late}, hour, "", "a,b"},
		"filled later, all namespaces": {scenario{now: rights(nil), filled: late}, hour, "", ""},
		"a namespace is left out": {scenario{namespaces: ab, missing: noB, now: rights(noB), filled: always}, hour, "",
			strings.Repeat(" b", 119)[1:]},
		"the rights are granted":    {scenario{namespaces: ab, missing: noB, now: given, filled: always}, 2 * minute, "", "b b b b"},
		"no response for a while":   {scenario{namespaces: ab, missing: noB, now: unanswered, filled: always}, 2 * minute, "", "b b b b"},
		"rights lost before filled": {scenario{namespaces: ab, now: rights(noB), filled: never}, minute / 2, "", "a,b"},
		"never filled": {scenario{namespaces: ab, now: rights(nil), filled: never}, 2 * minute, "v1.Echo, v1.Pod",
			"a,b a,b a,b a,b"},
		"never filled, all namespaces": {scenario{now: rights(nil), filled: never}, 2 * minute, "v1.Echo, v1.Pod", ""},
		"never filled without any response": {scenario{namespaces: ab, now: unanswered, filled: never}, 2 * minute, "v1.Echo, v1.Pod",
			"a,b a,b a,b a,b"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				ctx, end := context.WithTimeout(t.Context(), hour)
				defer end()
				began := time.Now()
				s := c.scenario.supervisor(began)
				err := s.run(ctx)
				g.Expect(time.Since(began)).To(Equal(c.ends))
				if (err == nil) != (c.failure == "") || err != nil && !strings.Contains(err.Error(), c.failure) {
					t.Errorf("got %v", err)
				}
				g.Expect(strings.Join(c.scenario.asked, " ")).To(Equal(c.asked))
			})
		})
	}
}

// waitingManager is a manager whose caches are filled after 3 s. It records the time when its context was canceled.
type waitingManager struct {
	manager.Manager
	synced synced
	ended  chan time.Time
}

func (m waitingManager) Start(ctx context.Context) error {
	time.AfterFunc(3*time.Second, func() { _ = m.synced.Start(ctx) })
	<-ctx.Done()
	m.ended <- time.Now()
	return nil
}

func TestStart_stopsWithoutWaitingForCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		s := scenario{now: rights(nil), filled: never}
		m, began := waitingManager{synced: make(synced), ended: make(chan time.Time, 1)}, time.Now()
		operator := Operator{Manager: m, supervisor: s.supervisor(began), synced: m.synced}
		g.Expect(operator.Start(ctx)).To(Succeed())
		g.Expect(time.Since(began)).To(Equal(time.Second))
		g.Expect((<-m.ended).Sub(began)).To(Equal(3 * time.Second))
	})
}

func route() schema.GroupVersionKind { return schema.FromAPIVersionAndKind("example.com/v1", "Route") }
func gate() schema.GroupVersionKind  { return schema.FromAPIVersionAndKind("example.com/v1", "Gate") }

// begin is the start of a period.
func begin() time.Time { return time.Time{}.Add(time.Hour) }

func required(kinds ...schema.GroupVersionKind) func(context.Context) func(optionalKind) bool {
	return func(context.Context) func(optionalKind) bool {
		return func(k optionalKind) bool { return slices.Contains(kinds, k.GroupVersionKind) }
	}
}

// TestLook gives a process one response about Route per minute. A letter is the first letter of the access in the response, except that s
// stands for usable. "!" stands for a failed query, and "d" for usable after the loss of earlier responses.
func TestLook(t *testing.T) {
	const old = time.Hour
	for name, c := range map[string]struct {
		start     access
		responses string
		age       time.Duration // of the process at the first response
		ends      int           // the minute in which the process exits, or -1 if it never exits
		changes   string
	}{
		"nothing changes":                     {notServed, "nnnnnn", old, -1, ""},
		"a kind appears":                      {notServed, "nsssss", old, 2, "Route.example.com: not served at startup, usable now"},
		"a kind vanishes":                     {usable, "snnnnn", old, 2, "Route.example.com: usable at startup, not served now"},
		"a right is granted":                  {forbidden, "fsssss", old, 2, "Route.example.com: forbidden at startup, usable now"},
		"a right is lost":                     {usable, "sfffff", old, 2, "Route.example.com: usable at startup, forbidden now"},
		"a kind appears without the right":    {notServed, "nfffff", old, 2, "Route.example.com: not served at startup, forbidden now"},
		"an unknown kind becomes known":       {unknown, "nnnnnn", old, 1, "Route.example.com: unknown at startup, not served now"},
		"once is not enough":                  {notServed, "snsnsn", old, -1, ""},
		"a failed response in between":        {notServed, "s!s!s!", old, -1, ""},
		"a loss of memory in between":         {notServed, "dddddd", old, -1, ""},
		"another change in between":           {notServed, "sfsfsf", old, -1, ""},
		"failures alone":                      {notServed, "!!!!!!", old, -1, ""},
		"a kind appears after a failure":      {notServed, "s!ssss", old, 3, "Route.example.com: not served at startup, usable now"},
		"a kind appears soon after the start": {notServed, "ssssssss", 4 * time.Minute, 6, "Route.example.com: not served at startup, usable now"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := &apiWatch{period: time.Minute, began: begin().Add(-c.age), start: findings{route(): {access: c.start}},
				kinds: []optionalKind{{GroupVersionKind: route()}}, required: required(route())}
			ends, changes := -1, ""
			for minute, letter := range c.responses {
				if letter == 'd' {
					w.seen.Store("")
				}
				w.ask = func(context.Context, []optionalKind) (findings, error) {
					if letter == '!' {
						return nil, errors.New("no response")
					}
					return findings{route(): {access: map[rune]access{'u': unknown, 'n': notServed, 'f': forbidden, 's': usable, 'd': usable}[letter]}}, nil
				}
				if changes = w.look(t.Context(), begin().Add(time.Duration(minute)*time.Minute)); changes != "" {
					ends = minute
					break
				}
			}
			g.Expect(ends).To(Equal(c.ends))
			g.Expect(changes).To(Equal(c.changes))
		})
	}
}

func TestLook_describesEachChange(t *testing.T) {
	w := &apiWatch{period: time.Minute, start: findings{route(): {access: usable}, gate(): {access: forbidden}}, required: required()}
	w.ask = func(context.Context, []optionalKind) (findings, error) {
		return findings{route(): {access: notServed}, gate(): {access: usable}, schema.FromAPIVersionAndKind("v1", "Pod"): {access: unknown}}, errors.New("pods: no response")
	}
	w.look(t.Context(), begin())
	NewWithT(t).Expect(w.look(t.Context(), begin())).To(
		Equal("Gate.example.com: forbidden at startup, usable now; Route.example.com: usable at startup, not served now"))
}

func TestLook_queriesRequiredAndMissedKinds(t *testing.T) {
	for name, c := range map[string]struct {
		required []schema.GroupVersionKind
		missed   bool
		answer   access
		want     []int // how many kinds the watch asks about in each minute
	}{
		"nothing is required":                      {answer: usable, want: []int{0, 0, 0}},
		"one kind is required":                     {required: []schema.GroupVersionKind{route()}, answer: usable, want: []int{1, 1, 1}},
		"a used kind was missed":                   {missed: true, answer: usable, want: []int{1, 0, 0}},
		"a used kind was missed and is not served": {missed: true, answer: notServed, want: []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []int
			w := &apiWatch{period: time.Minute, began: begin(), start: findings{route(): {access: usable}, gate(): {access: notServed}},
				kinds: []optionalKind{{GroupVersionKind: route()}, {GroupVersionKind: gate()}}, required: required(c.required...)}
			w.ask = func(_ context.Context, kinds []optionalKind) (findings, error) {
				asked = append(asked, len(kinds))
				if len(kinds) == 0 {
					return findings{}, nil
				}
				return findings{route(): {access: c.answer}}, nil
			}
			if c.missed {
				w.missed.Store(true)
			}
			for range c.want {
				w.look(t.Context(), begin())
			}
			NewWithT(t).Expect(asked).To(HaveExactElements(c.want))
		})
	}
}

// replica is a series of processes. Each process starts a moment after the previous one exits.
type replica struct {
	*apiWatch
	next  time.Time
	ended time.Time // when the last process exited
}

// start starts a process that finds an offer.
func (r *replica) start(at time.Time, elected <-chan struct{}, found access) {
	r.apiWatch = &apiWatch{period: time.Minute, began: at, start: findings{route(): {access: found}}, required: required(), elected: elected}
	r.next = r.apiWatch.next(at)
}

// TestAPIWatch_neverEndsReplicasTogether makes an API appear and disappear at random for two replicas that started at random times. Either
// replica can be the leader. The replicas must exit at least half a period apart, and each must run for at least ten periods.
func TestAPIWatch_neverEndsReplicasTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	elected := make(chan struct{})
	close(elected)
	for range 300 {
		leader, other := &replica{}, &replica{}
		replicas := []*replica{leader, other}
		leader.start(begin().Add(time.Duration(random.IntN(3600))*time.Second), elected, notServed)
		other.start(begin().Add(time.Duration(random.IntN(3600))*time.Second), nil, notServed)
		offer, change := notServed, begin()
		for range 600 {
			r := slices.MinFunc(replicas, func(a, b *replica) int { return a.next.Compare(b.next) })
			for ; change.Before(r.next); change = change.Add(time.Duration(random.IntN(2400)) * time.Second) {
				offer = []access{notServed, usable, forbidden}[random.IntN(3)]
			}
			r.ask = func(context.Context, []optionalKind) (findings, error) {
				return findings{route(): {access: offer}}, nil
			}
			if r.look(t.Context(), r.next) == "" {
				r.next = r.apiWatch.next(r.next)
				continue
			}
			for _, one := range replicas {
				least := 30 * time.Second
				if one == r {
					least = 10 * time.Minute
				}
				if apart := r.next.Sub(one.ended); apart < least && !one.ended.IsZero() {
					t.Errorf("replicas ended %s apart, want %s", apart, least)
				}
			}
			r.ended = r.next
			r.start(r.next.Add(3*time.Second), nil, offer)
			if r == leader { // the other replica takes over
				leader, other = other, leader
				leader.elected = elected
			}
		}
		NewWithT(t).Expect(leader.ended.IsZero() || other.ended.IsZero()).To(BeFalse(), "a replica never ended")
	}
}

// TestNext_neverAsksTwiceAtOnce checks that a timer that fires a little too early does not cause two queries in the same period.
func TestNext_neverAsksTwiceAtOnce(t *testing.T) {
	elected := make(chan struct{})
	close(elected)
	for _, leads := range []<-chan struct{}{nil, elected} {
		w := &apiWatch{period: time.Minute, elected: leads}
		at := w.next(begin())
		for _, fired := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
			NewWithT(t).Expect(w.next(at.Add(fired))).To(Equal(at.Add(time.Minute)))
		}
	}
}
