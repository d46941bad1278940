package operator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
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
func unrequired(began time.Time) *Watch {
	return &Watch{
		Period:   time.Minute,
		Began:    began,
		Ask:      func(context.Context, []optionalKind) (Offer, error) { return nil, nil },
		Required: func(context.Context) func(optionalKind) bool { return func(optionalKind) bool { return false } },
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
	synced Synced
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
		m, began := waitingManager{synced: make(Synced), ended: make(chan time.Time, 1)}, time.Now()
		operator := Operator{Manager: m, supervisor: s.supervisor(began), synced: m.synced}
		g.Expect(operator.Start(ctx)).To(Succeed())
		g.Expect(time.Since(began)).To(Equal(time.Second))
		g.Expect((<-m.ended).Sub(began)).To(Equal(3 * time.Second))
	})
}

// failedManager is a manager that returns an error when it stops.
type failedManager struct{ manager.Manager }

func (failedManager) Start(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("the lease is kept")
}

func TestStart_returnsErrorOfManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := scenario{namespaces: []string{"a", "b"}, missing: missingRights{"b": {"list pods"}}, now: rights(nil), filled: always}
		operator := Operator{Manager: failedManager{}, supervisor: s.supervisor(time.Now()), synced: make(Synced)}
		close(operator.synced)
		g.Expect(operator.Start(t.Context())).To(MatchError(ContainSubstring("the lease is kept")))
		g.Expect(s.asked).To(HaveExactElements("b"))
	})
}
