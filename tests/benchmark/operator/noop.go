package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// noop measures a reconcile of a converged Echo, in a namespace without pods, and with many pods of other Echoes. The operator runs in
// this process. When nothing happens, its cache contains all pods.
func (b *benchmark) noop(ctx context.Context) error {
	return onControlPlane(ctx, func(p *controlPlane) (err error) {
		config, requests := rest.CopyConfig(p.config), &atomic.Int64{}
		config.Wrap(func(to http.RoundTripper) http.RoundTripper { return &counter{to, requests} })
		o, err := controlplane.NewOperator(config, "baseline")
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		stopped := make(chan error, 1)
		go func() { stopped <- o.Start(ctx) }()
		defer func() {
			cancel()
			err = errors.Join(err, <-stopped)
		}()
		echo := newEcho(0)
		if err := errors.Join(p.client.Create(ctx, echo), p.awaitEvents(ctx, 1)); err != nil {
			return err
		}
		for _, pods := range []int{0, 4000} {
			if err := errors.Join(p.createPods(ctx, "other-%05d", pods/podsPerEcho), p.quiet(ctx)); err != nil {
				return err
			}
			sent := requests.Load()
			if err := b.noopReconcile(ctx, o.Echoes, echo, fmt.Sprintf("noop.%d", pods)); err != nil {
				return err
			}
			b.add("noop.requests", float64(requests.Load()-sent))
		}
		return nil
	})
}

// counter counts requests.
type counter struct {
	http.RoundTripper
	count *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.RoundTripper.RoundTrip(request)
}

func (b *benchmark) noopReconcile(ctx context.Context, r reconcile.Reconciler, echo *v1.Echo, name string) error {
	before, err := process.CPUTime(os.Getpid())
	if err != nil {
		return err
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(echo)}
	result := testing.Benchmark(func(t *testing.B) {
		t.ReportAllocs()
		for t.Loop() {
			if _, problem := r.Reconcile(ctx, request); problem != nil {
				err = problem
			}
		}
	})
	if err != nil {
		return err
	}
	after, err := process.CPUTime(os.Getpid())
	b.add(name+".time", milliseconds(result.T)/float64(result.N))
	b.add(name+".cpu", milliseconds(after-before)/float64(result.N)) // with garbage collection
	b.add(name+".allocations", float64(result.AllocsPerOp()))
	return err
}
