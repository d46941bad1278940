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
	// askPeriod is how often the operator asks for its rights while it cannot watch a namespace.
	askPeriod = 30 * time.Second
	// fillTimeout is how long the caches may take to receive all objects.
	fillTimeout = 2 * time.Minute
)

// supervisor ends a process whose caches cannot be used, or do not hold all namespaces that they could: a cache cannot be given other
// namespaces.
type supervisor struct {
	// namespaces are those to watch, empty for all.
	namespaces []string
	// missing are the rights that were missing at the start.
	missing missingRights
	ask     askRights
	// pending returns which caches have not received all objects yet.
	pending func() []string
	log     logr.Logger
}

// run returns when the process should end, which it does in order if the error is nil. It asks for rights only while namespaces are left
// out or caches are not filled.
func (s *supervisor) run(ctx context.Context) error {
	began, ticks := time.Now(), time.NewTicker(askPeriod)
	defer ticks.Stop()
	for len(s.missing) > 0 || len(s.pending()) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		pending := s.pending()
		if s.changed(ctx, len(pending) == 0) {
			return nil
		}
		if len(pending) > 0 && time.Since(began) >= fillTimeout {
			return fmt.Errorf("the caches are not filled after %s: %s: check that the operator may list and watch these, and the errors in the log",
				fillTimeout, strings.Join(pending, ", "))
		}
	}
	<-ctx.Done()
	return nil
}

// changed reports whether another start would watch other namespaces. An error is not reported: the question is asked again.
func (s *supervisor) changed(ctx context.Context, filled bool) bool {
	asked := s.namespaces
	if filled { // the namespaces that are watched are served until the process ends, whatever happens to their rights
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
			s.log.Info("A namespace can be watched now. The process ends, and watches it after its next start.", "namespace", namespace)
			return true
		case after && !before:
			s.log.Info("A namespace cannot be watched any more. The process ends, and leaves it out after its next start.", "namespace", namespace,
				"cause", now.in(namespace))
			return true
		}
		return false
	})
}
