package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const leaseName = "echo-operator.example.com"

// failover measures how long an Echo waits for its Deployment that is created when the leader of two operators ends: in order, and killed.
func (b *benchmark) failover(ctx context.Context) (err error) {
	p, err := startControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	o, err := p.observe(ctx)
	if err != nil {
		return err
	}
	defer o.stop()
	leader, err := b.startElected(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leader.kill()) }()
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
		took, err := o.oneFailover(ctx, ended, signal, fmt.Sprintf("echo-%05d", i))
		if err != nil {
			return err
		}
		b.figures.add("failover."+ends, took.Seconds())
		b.say("  %.2f s", took.Seconds())
	}
	return nil
}

// startElected starts an operator that takes part in the election, and waits until it has read what it needs for that.
func (b *benchmark) startElected(ctx context.Context, p *controlPlane) (*program, error) {
	g, err := startOperator(ctx, p, b.manager, p.kubeconfig(controlplane.OperatorUser), leaderElection()...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.awaitMetrics(ctx, g), p.awaitLease(ctx), p.quiet(ctx, g)); err != nil {
		return nil, errors.Join(g.failure(err), g.kill())
	}
	return g, nil
}

// awaitLease waits until there is a leader.
func (p *controlPlane) awaitLease(ctx context.Context) error {
	return poll(ctx, startTimeout, func(ctx context.Context) (bool, error) {
		lease := &coordinationv1.Lease{}
		err := p.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: leaseName}, lease)
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", client.IgnoreNotFound(err)
	})
}

// oneFailover ends the leader by a signal, creates an Echo, and returns how long it takes until its Deployment is there.
func (o *observer) oneFailover(ctx context.Context, leader *program, signal os.Signal, name string) (took time.Duration, err error) {
	defer func() { err = errors.Join(err, leader.kill()) }()
	began := time.Now()
	if err := leader.command.Process.Signal(signal); err != nil {
		return 0, err
	}
	created := time.Since(began)
	times, err := o.create(ctx, name)
	return created + times.Deployment, err
}
