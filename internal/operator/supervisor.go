package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

const (
	// askPeriod is the interval at which the operator checks its rights while it cannot watch a namespace.
	askPeriod = 30 * time.Second
	// fillTimeout is the maximum time that the caches may take to receive all objects.
	fillTimeout = 2 * time.Minute
)

// supervisor stops the process when only a restart can help, because caches are set up only once. A restart helps when caches are unusable,
// or when they lack namespaces or kinds that they could hold.
type supervisor struct {
	namespaces []string      // the namespaces to watch, or empty for all namespaces
	missing    missingRights // the rights that were missing at the start
	ask        func(ctx context.Context, namespaces []string) (missingRights, error)
	pending    func() []string // returns the caches that have not received all objects yet
	apis       *apiWatch       // asks the cluster about the optional APIs
	tlsChanged chan struct{}   // closed when the TLS profile of the cluster changes
	log        logr.Logger
}

// run blocks until the process should exit.
func (s *supervisor) run(ctx context.Context) error {
	began, rights := time.Now(), time.Tick(askPeriod)
	apis := time.After(time.Until(s.apis.next(began)))
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.tlsChanged:
			s.log.Info("The TLS profile of the cluster has changed. Restarting to apply it.")
			return nil
		case now := <-apis:
			if changes := s.apis.look(ctx, now); changes != "" {
				s.log.Info("The APIs of the cluster have changed. Restarting to use them.", "changes", changes)
				return nil
			}
			apis = time.After(time.Until(s.apis.next(time.Now())))
		case <-rights:
			if ends, err := s.checkCaches(ctx, time.Since(began)); ends {
				return err
			}
		}
	}
}

// checkCaches reports whether the process should exit because its rights in the namespaces have changed or the caches are not filled after
// fillTimeout. It checks rights only while a namespace is not watched or a cache is not filled. If that fails, the next call tries again.
func (s *supervisor) checkCaches(ctx context.Context, after time.Duration) (bool, error) {
	pending, asked := s.pending(), s.namespaces
	if len(pending) == 0 { // watched namespaces are served until the process exits, even if the rights in them change
		asked = slices.Sorted(maps.Keys(s.missing))
	}
	if len(asked) > 0 {
		now, err := s.ask(ctx, asked)
		for _, namespace := range asked {
			if err == nil && (now[namespace] == nil) != (s.missing[namespace] == nil) {
				s.log.Info("The permissions in a namespace have changed. Restarting to apply the change.", "namespace", namespace,
					"missing", now[namespace])
				return true, nil
			}
		}
	}
	if len(pending) == 0 || after < fillTimeout {
		return false, nil
	}
	return true,
		fmt.Errorf("the caches are not filled after %s: %s: check that the operator may list and watch these kinds, and check the log for errors",
			fillTimeout, strings.Join(pending, ", "))
}

// minPeriods is the number of periods that a process runs at least before it exits because of a change.
const minPeriods = 10

// apiWatch determines when the operator must restart because the APIs that the cluster offers have changed. It queries the cluster in each
// period if an Echo requires an API that was not served when the operator started, or if a kind has disappeared. Two replicas never exit at
// the same time. The fields up to elected are required. Only the last two are safe for concurrent use.
type apiWatch struct {
	period time.Duration
	// began is the time at which the process started, and start is what it found then.
	began time.Time
	start findings
	// ask queries the cluster about some of the kinds, as discoverer.ask does.
	ask      func(context.Context, []optionalKind) (findings, error)
	kinds    []optionalKind
	required func(context.Context) func(optionalKind) bool
	// elected is closed when this replica is the leader.
	elected <-chan struct{}

	seen   atomic.Value // a string, which describes the changes in the last response
	missed atomic.Bool  // true if the cluster may no longer serve a watched kind
}

// next returns the time of the next query, which is at least half a period away. The leader's queries are half a period apart from those of
// other replicas, so that two replicas never exit together.
func (w *apiWatch) next(now time.Time) time.Time {
	select {
	case <-w.elected:
		return now.Truncate(w.period).Add(w.period + w.period/2)
	default:
		return now.Round(w.period).Add(w.period)
	}
}

// look queries the cluster about the kinds that Echoes require and, if a kind was missed or after a change, about all kinds in use. If two
// consecutive responses show the same changes, look returns a description of them, and the process must exit. Otherwise, it returns "".
func (w *apiWatch) look(ctx context.Context, now time.Time) string {
	before, _ := w.seen.Swap("").(string)
	missed, isRequired := w.missed.Swap(false) || before != "", w.required(ctx)
	offer, _ := w.ask(ctx, slices.DeleteFunc(slices.Clone(w.kinds), func(kind optionalKind) bool {
		used := missed && w.start[kind.GroupVersionKind].access == usable
		return !used && !isRequired(kind)
	}))
	var changes []string
	for kind, found := range offer {
		if was := w.start[kind].access; was != found.access && found.access != unknown {
			changes = append(changes, fmt.Sprintf("%s: %s at startup, %s now", kind.GroupKind(), was, found.access))
		}
	}
	slices.Sort(changes)
	seen := strings.Join(changes, "; ")
	w.seen.Store(seen)
	if seen != before || now.Sub(w.began) < minPeriods*w.period {
		return ""
	}
	return seen
}
