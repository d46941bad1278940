package reliability

import (
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/history"
)

const (
	// maxPasses bounds the passes until nothing is left to do.
	maxPasses = 60
	// patience is how long a scenario may wait for a retry. What is due later does not count: it is a check of a deadline, or of a name
	// that is taken.
	patience = 50 * time.Second
)

// simulation runs the operator on a cluster, with a clock of its own.
type simulation struct {
	*cluster
	faults *injector
	// watched is how many commits the operator was told of.
	watched  int
	now      time.Time
	recorder *events.FakeRecorder
	sent     []string
	operator *controllers.EchoReconciler
	passes   int
}

func newSimulation(f fault, at int) *simulation {
	s := &simulation{cluster: newCluster(), now: time.Unix(1000000, 0), recorder: events.NewFakeRecorder(1000)}
	s.faults = &injector{cluster: s.cluster, at: at, fault: f}
	s.start()
	return s
}

// start starts the process of the operator, which knows nothing of an earlier one.
func (s *simulation) start() {
	s.faults.served = map[string]int{}
	now := func() time.Time { return s.now }
	s.operator = &controllers.EchoReconciler{History: history.New(now), Dependencies: controllers.Dependencies{
		Client: s.faults.client(true), Live: s.faults.client(false), Recorder: s.recorder, Now: now,
		Images: children.Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}, Policy: children.Policy{MaxReplicas: 20},
		Schema: children.NewSchema(testScheme()),
	}}
}

// pass makes one pass over the Echo. It reports whether the process crashed.
func (s *simulation) pass(t *testing.T) (result ctrl.Result, err error, crashed bool) {
	defer func() {
		if reason := recover(); reason != nil {
			if _, ours := reason.(crash); !ours {
				panic(reason)
			}
			crashed = true
		}
	}()
	s.passes++
	result, err = s.operator.ReconcileNamed(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "x"}})
	return result, err, false
}

// settle lets the operator and the other controllers work until nothing is left to do.
func (s *simulation) settle(t *testing.T) {
	t.Helper()
	due, failures, limit := s.now, 0, s.passes+maxPasses
	for {
		if s.commits == s.watched && (due.IsZero() || due.Sub(s.now) > patience) && !s.rollOut(t) {
			return
		}
		if s.commits == s.watched && due.After(s.now) {
			s.now = due
		}
		s.watched, due = s.commits, time.Time{}
		if s.passes > limit {
			t.Fatalf("it does not settle: %d passes; the last requests are %v", maxPasses, s.faults.calls[max(0, len(s.faults.calls)-20):])
		}
		result, err, crashed := s.pass(t)
		if s.faults.late {
			s.faults.late, s.watched = false, -1
		}
		switch {
		case crashed:
			s.start()
			due, failures = s.now, 0
		case errors.Is(err, reconcile.TerminalError(nil)): // only an event helps
		case err != nil:
			due = s.now.Add(min(time.Minute, 5*time.Millisecond<<min(failures, 20)))
			failures++
		default:
			failures = 0
			if result.RequeueAfter > 0 {
				due = s.now.Add(result.RequeueAfter)
			}
		}
	}
}

// events returns the events that were sent, in the order of the alphabet.
func (s *simulation) events() []string {
	for {
		select {
		case e := <-s.recorder.Events:
			s.sent = append(s.sent, e)
		default:
			return slices.Sorted(slices.Values(s.sent))
		}
	}
}
