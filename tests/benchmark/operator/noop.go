package main

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// noop measures a reconcile of a converged Echo, in a namespace with many pods of other Echoes. The operator runs in this process. When
// nothing happens, its cache contains all pods. `make test` checks the requests and the allocations of such a reconcile.
func (b *benchmark) noop(ctx context.Context) error {
	return onControlPlane(ctx, func(p *controlPlane) (err error) {
		o, err := controlplane.NewOperator(p.config, "baseline")
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
		if err := errors.Join(p.createPods(ctx, "other-%05d", 2000), p.quiet(ctx)); err != nil {
			return err
		}
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(echo)}
		result := testing.Benchmark(func(t *testing.B) {
			for t.Loop() {
				if _, problem := o.Echoes.Reconcile(ctx, request); problem != nil {
					err = problem
				}
			}
		})
		b.add("noop.time", milliseconds(result.T)/float64(result.N))
		return err
	})
}
