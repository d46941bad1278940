package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// failover measures how long a new Echo waits for its Deployment after the leader of two replicas shuts down gracefully or is killed.
func (b *benchmark) failover(ctx context.Context) (err error) {
	p, err := testbed.StartControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	o, err := p.Observe(ctx)
	if err != nil {
		return err
	}
	defer o.Stop()
	leader, err := b.startElected(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leader.Kill()) }()
	for i := range 2 * b.rounds {
		ends, signal := "clean", os.Signal(syscall.SIGTERM)
		if i%2 == 1 {
			ends, signal = "killed", os.Kill
		}
		b.say("failover %d of %d: %s", i+1, 2*b.rounds, ends)
		standby, err := b.startElected(ctx, p)
		if err != nil {
			return err
		}
		ended := leader
		leader = standby
		took, err := oneFailover(ctx, o, ended, signal, fmt.Sprintf("echo-%05d", i))
		if err != nil {
			return err
		}
		b.figures.Add("failover."+ends, took.Seconds())
		b.say("  %.2f s", took.Seconds())
	}
	return nil
}

// startElected starts an operator with leader election, and waits until there is a leader and the operator is idle.
func (b *benchmark) startElected(ctx context.Context, p *testbed.ControlPlane) (*testbed.Program, error) {
	g, err := testbed.StartOperator(ctx, p, b.manager, p.Kubeconfig(controlplane.OperatorUser), leaderElection()...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.AwaitMetrics(ctx, g), p.AwaitLease(ctx), p.Quiet(ctx, g)); err != nil {
		return nil, errors.Join(g.Failure(err), g.Kill())
	}
	return g, nil
}

// oneFailover sends a signal to the leader, creates an Echo, and returns the time until the Echo's Deployment exists.
func oneFailover(ctx context.Context, o *testbed.Observer, leader *testbed.Program, signal os.Signal, name string) (
	took time.Duration, err error,
) {
	defer func() { err = errors.Join(err, leader.Kill()) }()
	began := time.Now()
	if err := leader.Command.Process.Signal(signal); err != nil {
		return 0, err
	}
	created := time.Since(began)
	times, err := o.Create(ctx, name)
	return created + times.Deployment, err
}
