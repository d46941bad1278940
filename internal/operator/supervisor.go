package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/echo-operator/echo-operator/internal/discovery"
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
	// namespaces lists the namespaces to watch, or is empty for all namespaces.
	namespaces []string
	// missing holds the rights that were missing at the start.
	missing missingRights
	ask     askRights
	// pending returns the caches that have not received all objects yet.
	pending func() []string
	// apis asks the cluster about the optional APIs, which not every cluster serves.
	apis *discovery.Watch
	// tlsChanged is closed when the TLS profile of the cluster changes.
	tlsChanged chan struct{}
	log        logr.Logger
}

// run blocks until the process should exit.
func (s *supervisor) run(ctx context.Context) error {
	began, rights := time.Now(), time.NewTicker(askPeriod)
	defer rights.Stop()
	at := s.apis.Next(began)
	apis := time.NewTimer(time.Until(at))
	defer apis.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.tlsChanged:
			s.log.Info("The TLS profile of the cluster has changed. Restarting to apply it.")
			return nil
		case <-apis.C:
			if changes := s.apis.Look(ctx, at); len(changes) > 0 {
				s.log.Info("The APIs of the cluster have changed. Restarting to use them.", "changes", changes)
				return nil
			}
			latest := slices.MaxFunc([]time.Time{at, time.Now()}, time.Time.Compare) // a timer may fire a moment too early
			at = s.apis.Next(latest)
			apis.Reset(time.Until(at))
		case <-rights.C:
			if ends, err := s.checkCaches(ctx, time.Since(began)); ends {
				return err
			}
		}
	}
}

// checkCaches reports whether the process should exit because the accessible namespaces have changed or the caches are not filled after
// fillTimeout. It checks rights only while a namespace is not watched or a cache is not filled.
func (s *supervisor) checkCaches(ctx context.Context, after time.Duration) (bool, error) {
	pending := s.pending()
	if len(pending) == 0 && len(s.missing) == 0 {
		return false, nil
	}
	if s.changed(ctx, len(pending) == 0) {
		return true, nil
	}
	if len(pending) == 0 || after < fillTimeout {
		return false, nil
	}
	return true,
		fmt.Errorf("the caches are not filled after %s: %s: check that the operator may list and watch these kinds, and check the log for errors",
			fillTimeout, strings.Join(pending, ", "))
}

// changed reports whether a restart would change the watched namespaces. Errors are ignored, because the check will be repeated.
func (s *supervisor) changed(ctx context.Context, filled bool) bool {
	asked := s.namespaces
	if filled { // watched namespaces are served until the process exits, even if the rights in them change
		asked = slices.Sorted(maps.Keys(s.missing))
	}
	if len(asked) == 0 {
		return false
	}
	now, err := s.ask(ctx, asked)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(asked, func(namespace string) bool {
		switch before, after := s.missing[namespace] != nil, now[namespace] != nil; {
		case before && !after:
			s.log.Info("A namespace is now accessible. Restarting to watch it.", "namespace", namespace)
			return true
		case after && !before:
			s.log.Info("A namespace is no longer accessible. Restarting without it.", "namespace", namespace,
				"cause", now.in(namespace))
			return true
		}
		return false
	})
}
