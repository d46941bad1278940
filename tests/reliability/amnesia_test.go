package reliability

import (
	"hash/fnv"
	"math/rand"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// amnesiaSeed is the amnesia seed for all plans, or 0 for no amnesia.
func amnesiaSeed(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("AMNESIA")
	if text == "" {
		return 0
	}
	seed, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// lossRate is the average number of calls to strike per loss of memories.
const lossRate = 4

// amnesia makes the operator lose its memories at random moments. The zero value does nothing.
type amnesia struct {
	lock   sync.Mutex
	random *rand.Rand
	losses atomic.Int64
}

// newAmnesia returns the amnesia for a run of a scenario with a plan.
func newAmnesia(p plan, c scenario) *amnesia {
	if p.amnesia == 0 {
		return &amnesia{}
	}
	hash := fnv.New64()
	_, _ = hash.Write([]byte(c.name + p.String())) // Write never returns an error
	return &amnesia{random: rand.New(rand.NewSource(p.amnesia ^ int64(hash.Sum64())))}
}

// strike makes a process lose some of its memories at random.
func (a *amnesia) strike(p *process) {
	for _, drop := range a.chosen(p.remembers()) {
		drop()
		a.losses.Add(1)
	}
}

// chosen returns the memories to drop now. Usually, there are none. Otherwise, each memory is dropped with a probability of one half.
func (a *amnesia) chosen(memories []func()) []func() {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.random == nil || a.random.Intn(lossRate) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(memories), func(func()) bool { return a.random.Intn(2) == 0 })
}

// remembers returns the functions that make a process drop its memories. Before the process is assembled, there are none.
func (p *process) remembers() []func() {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.memories
}

// TestAmnesia runs each scenario with an operator that loses its memories at random moments. Memories may reduce the number of requests and
// reconciles, but must have no other effect.
func TestAmnesia(t *testing.T) {
	const seeds = 2
	w := &sweep{}
	t.Run("plans", func(t *testing.T) {
		for _, c := range slices.Concat(basics(), others()) {
			var reference outcome
			run(t, plan{}, c, func(_ *testing.T, s *simulation) { reference = s.outcome() })
			for seed := range int64(seeds) {
				w.run(t, c, plan{amnesia: seed + 1}, reference)
			}
		}
	})
	w.report(t, 0, len(basics())+len(others()))
	if w.losses.Load() == 0 {
		t.Error("no memory was lost")
	}
}

// TestMain applies settings for all runs. Runs produce much garbage but use little memory, so less frequent garbage collection saves time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // one handler delays errors that closely follow another error, but each run has its own clock
	os.Exit(m.Run())
}
