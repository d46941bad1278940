package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// shutdownCap bounds how long requests in flight may take once the server has stopped listening.
const shutdownCap = 20 * time.Second

// lifecycle is how far the server is: serving, then draining, then ending.
type lifecycle struct {
	draining   atomic.Bool    // not ready, but still answering
	ending     chan struct{}  // closed when no new connection is accepted any more
	webSockets sync.WaitGroup // http.Server does not wait for them
}

func newLifecycle() *lifecycle {
	return &lifecycle{ending: make(chan struct{})}
}

// drain fails the readiness probe and goes on answering until the endpoints have lost this pod; then it stops listening,
// tells those that wait or stream to end, and lets the requests in flight end.
func (l *lifecycle) drain(server *http.Server, delay time.Duration, log *slog.Logger) {
	log.Info("draining", "delay", delay.String())
	l.draining.Store(true)
	<-time.After(delay)
	close(l.ending)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownCap)
	defer cancel()
	if err := errors.Join(server.Shutdown(ctx), l.awaitWebSockets(ctx)); err != nil {
		log.Warn("ending with requests in flight", "error", err.Error())
		_ = server.Close() // the process ends
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
