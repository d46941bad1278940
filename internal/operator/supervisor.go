package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	ask        askRights
	pending    func() []string // returns the caches that have not received all objects yet
	apis       *Watch          // asks the cluster about the optional APIs
	tlsChanged chan struct{}   // closed when the TLS profile of the cluster changes
	log        logr.Logger
}

// run blocks until the process should exit.
func (s *supervisor) run(ctx context.Context) error {
	began, rights := time.Now(), time.Tick(askPeriod)
	apis := time.After(time.Until(s.apis.Next(began)))
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.tlsChanged:
			s.log.Info("The TLS profile of the cluster has changed. Restarting to apply it.")
			return nil
		case now := <-apis:
			if changes := s.apis.Look(ctx, now); changes != "" {
				s.log.Info("The APIs of the cluster have changed. Restarting to use them.", "changes", changes)
				return nil
			}
			apis = time.After(time.Until(s.apis.Next(time.Now())))
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
