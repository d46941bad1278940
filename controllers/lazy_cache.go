package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// fillTimeout is how long a pass waits for a LazyCache to be filled.
const fillTimeout = 10 * time.Second

// LazyCache is a cache that is started when it is first read, so that it costs nothing where nobody needs it. Its methods may be called
// concurrently. All exported fields are required.
type LazyCache struct {
	// New makes the cache.
	New func() (cache.Cache, error)
	// Add makes the manager run it.
	Add func(manager.Runnable) error

	// watch makes the controller watch what the cache holds.
	watch func(cache.Cache) error

	lock    sync.Mutex
	objects cache.Cache // nil until it is started
}

// Reader returns the cache when it is filled. The first call starts it.
func (l *LazyCache) Reader(ctx context.Context) (client.Reader, error) {
	objects, err := l.start()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	if !objects.WaitForCacheSync(ctx) {
		return nil, errors.New("CronJobs cannot be listed: check the rights of the operator, and the errors in its log")
	}
	return objects, nil
}

func (l *LazyCache) start() (cache.Cache, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.objects != nil {
		return l.objects, nil
	}
	objects, err := l.New()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(l.watch(objects), l.Add(manager.RunnableFunc(objects.Start))); err != nil {
		return nil, err
	}
	l.objects = objects
	return objects, nil
}
