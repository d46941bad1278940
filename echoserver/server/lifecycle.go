package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// shutdownTimeout is how long requests may take after the server stops listening.
const shutdownTimeout = 20 * time.Second

// lifecycle is the state of the server: serving, then draining, then shutting down.
type lifecycle struct {
	draining   atomic.Bool    // the server is not ready but still responds
	notReady   chan struct{}  // closed when the server begins to drain
	ending     chan struct{}  // closed when the server stops accepting connections
	webSockets sync.WaitGroup // counted because http.Server does not wait for them
}

func newLifecycle() *lifecycle {
	return &lifecycle{notReady: make(chan struct{}), ending: make(chan struct{})}
}

// drain makes the readiness probe fail. During the delay, while the pod is removed from its Service's endpoints, the server continues to
// respond. Then drain stops listening, ends delays and streams, and waits for the requests in flight.
func (l *lifecycle) drain(server *http.Server, delay time.Duration, log *slog.Logger) {
	log.Info("draining", "delay", delay.String())
	l.draining.Store(true)
	close(l.notReady)
	<-time.After(delay)
	close(l.ending)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := errors.Join(server.Shutdown(ctx), l.awaitWebSockets(ctx)); err != nil {
		log.Warn("stopping with requests in flight", "error", err.Error())
		_ = server.Close() // the process exits anyway
		return
	}
	log.Info("drained")
}

func (l *lifecycle) awaitWebSockets(ctx context.Context) error {
	closed := make(chan struct{})
	go func() {
		l.webSockets.Wait()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
