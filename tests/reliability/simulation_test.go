package reliability

import (
	"testing"
	"testing/synctest"
	"time"
)

const (
	// patience is how long the state must stay unchanged before the simulation assumes that there is nothing left to do. It is longer than the
	// delay before any retry, even after a fault that lasts until the client gives up.
	patience = 3 * time.Minute
	// holdTime is how long a watch is held back. It is longer than controllers.Tolerance.
	holdTime = 5 * time.Second
	// maxCommits limits how many changes a step may cause.
	maxCommits = 200
)

// simulation runs the operator on a simulated API server, in simulated time.
type simulation struct {
	*store
	scenario
	// made is the number of steps carried out so far.
	made    int
	faults  *injector
	amnesia *amnesia
	process *process
	// sent contains the events that were sent. notes contains the notes of these events, by event name.
	sent  []string
	notes map[string]string
	// controlled is the number of changes that the other controllers have processed.
	controlled int
}

// run carries out a scenario in a new simulation, according to a plan, and then calls check.
func run(t *testing.T, p plan, c scenario, check func(*testing.T, *simulation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{store: newStore(), scenario: c, notes: map[string]string{}}
		s.faults, s.amnesia = &injector{plan: p, calls: map[string]int{}, in: s}, newAmnesia(p, c)
		s.create(nodeKey, readyNode())
		if c.seed != nil {
			c.seed(s)
		}
		s.start(t)
		s.settle(t)
		for s.step() {
			s.settle(t)
		}
		check(t, s)
		s.end(t)
		time.Sleep(patience) //nolint:forbidigo // in simulated time: the remaining goroutines of a process stop when its caches are filled
		synctest.Wait()
	})
}

// step carries out the next step of the scenario, and reports whether there was a next step.
func (s *simulation) step() bool {
	s.lock.Lock()
	next := s.made
	s.made++
	s.lock.Unlock()
	if next >= len(s.steps) {
		return false
	}
	s.steps[next](s)
	return true
}

// settle waits until the operator and the other controllers have nothing left to do.
func (s *simulation) settle(t *testing.T) {
	t.Helper()
	limit, quiet := s.commits()+maxCommits, time.Duration(0)
	for quiet < patience {
		synctest.Wait()
		before := s.commits()
		s.amnesia.strike(s.process)
		switch {
		case s.process.crashed.Load() || s.process.stopping.Load() || len(s.process.stopped) > 0:
			s.end(t)
			s.start(t)
			quiet = 0
		case s.deliver():
			quiet = 0
		case before > s.controlled:
			s.controlled = before
			s.control()
		case quiet >= holdTime && (s.faults.release() || s.faults.heal(s.process.streams())):
			quiet = 0
		default:
			pause := max(time.Second, quiet/10)
			time.Sleep(pause) //nolint:forbidigo // in simulated time
			quiet += pause
		}
		if s.commits() > before {
			quiet = 0
		}
		if before > limit {
			t.Fatalf("the simulation does not settle; the last requests are %v", s.faults.order[max(0, len(s.faults.order)-20):])
		}
	}
}

// deliver finds the resource with the oldest pending change, and sends the operator all pending changes to this resource. It reports
// whether any changes were pending.
func (s *simulation) deliver() bool {
	s.lock.Lock()
	log := s.log
	s.lock.Unlock()
	var oldest *stream
	streams := s.process.streams()
	for _, one := range streams {
		if one.pending(log, s.faults.known(one.resource, log)) && (oldest == nil || one.next < oldest.next) {
			oldest = one
		}
	}
	for _, one := range streams {
		for oldest != nil && one.resource == oldest.resource && one.pending(log, s.faults.known(one.resource, log)) {
			s.hear() // first, because the operator may respond at once
			one.deliver(log, s.faults)
		}
	}
	return oldest != nil
}

// known returns how many changes a new watch of a resource already includes when it starts.
func (s *simulation) known(resource string) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.faults.listed(resource, s.log[:s.faults.known(resource, s.log)])
}
