package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// singles is the number of Echoes that are created one after another.
const singles = 50

// single measures how long it takes to create the objects of one Echo when nothing else happens, both with the idle operator and with the
// raw writer.
func (b *benchmark) single(ctx context.Context) (err error) {
	b.say("%d Echoes one after another", singles)
	p, err := testbed.StartControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := b.rawSingles(ctx, p); err != nil {
		return err
	}
	g, err := testbed.StartOperator(ctx, p, b.manager, p.Kubeconfig(controlplane.OperatorUser))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Kill()) }()
	if err := errors.Join(p.AwaitReconciles(ctx, g, singles), p.Quiet(ctx, g)); err != nil {
		return g.Failure(err)
	}
	o, err := p.Observe(ctx)
	if err != nil {
		return err
	}
	defer o.Stop()
	for i := range singles {
		took, err := o.Create(ctx, fmt.Sprintf("echo-%05d", singles+i))
		if err != nil {
			return g.Failure(err)
		}
		b.figures.Add("single.operator.deployment", milliseconds(took.Deployment))
		b.figures.Add("single.operator.last", milliseconds(took.Last))
	}
	return nil
}

func (b *benchmark) rawSingles(ctx context.Context, p *testbed.ControlPlane) error {
	g, err := testbed.StartRaw(ctx, p, b.raw, testbed.CreatorUser,
		testbed.RawFlags(singles, "-template="+b.template, "-create", "-workers=1")...)
	if err != nil {
		return err
	}
	if err := g.Write(); err != nil {
		return err
	}
	_, times, err := g.Finish()
	for _, t := range times {
		b.figures.Add("single.raw.deployment", milliseconds(t.Deployment))
		b.figures.Add("single.raw.last", milliseconds(t.Last))
	}
	return err
}

// start measures how long the operator takes from its start to its first watch in an empty cluster, and how much memory it uses with one
// Echo.
func (b *benchmark) start(ctx context.Context) (err error) {
	p, err := testbed.StartControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	const starts = 7
	for i := range starts {
		b.say("start %d of %d in an empty cluster", i+1, starts)
		if err := p.Quiet(ctx, nil); err != nil {
			return err
		}
		if err := b.firstWatch(ctx, p, "start.firstWatch", b.manager); err != nil {
			return err
		}
		if err := b.firstWatch(ctx, p, "start.bare.firstWatch", b.bare); err != nil {
			return err
		}
	}
	if err := errors.Join(b.create(ctx, p, 1, "-template="+b.template), p.Quiet(ctx, nil)); err != nil {
		return err
	}
	return b.restarts(ctx, p, "restart.1", 1)
}

// firstWatch measures the time until the operator, or the bare manager, starts its first watch.
func (b *benchmark) firstWatch(ctx context.Context, p *testbed.ControlPlane, figure, path string) error {
	r, g, end, err := startRecorded(ctx, p, path)
	if err != nil {
		return err
	}
	if err := testbed.Poll(ctx, testbed.StartTimeout, r.watching); err != nil {
		return errors.Join(g.Failure(err), end())
	}
	b.figures.Add(figure, milliseconds(r.firstWatch.Sub(g.Began)))
	b.say("  %s: %.0f ms", filepath.Base(path), b.figures.Last(figure))
	return end()
}
