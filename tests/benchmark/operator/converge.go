package main

import (
	"context"
	"fmt"
	"slices"
)

// converge compares the operator with raw. The Echoes exist when the operator starts ("there"), or are created while it runs
// ("arriving"). The programs take turns, so that other load on the machine affects all of them.
func (b *benchmark) converge(ctx context.Context) error {
	for round := range b.rounds {
		for _, m := range []struct {
			name string
			run  func(context.Context, *controlPlane) error
		}{{"raw", b.convergeRaw}, {"there", b.convergeThere}, {"arriving", b.convergeArriving}} {
			b.say("round %d of %d: %s", round+1, b.rounds, m.name)
			err := onControlPlane(ctx, func(p *controlPlane) error { return m.run(ctx, p) })
			// An operator that does too little would appear to be fast.
			requests := b.figures[m.name+".operator.requests"]
			if err == nil && len(requests) > 0 && slices.Min(requests) < float64(len(b.writes)) {
				err = fmt.Errorf("%v requests for an Echo, which needs %d", requests, len(b.writes))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

// convergeRaw measures raw, and the creation of the Echoes, which is a part of "arriving".
func (b *benchmark) convergeRaw(ctx context.Context, p *controlPlane) error {
	created, err := p.measure(ctx, func() error { return p.createEchoes(ctx, b.n) })
	if err != nil {
		return err
	}
	used, err := p.measure(ctx, func() error { return b.sendWrites(ctx, p) })
	if err != nil {
		return err
	}
	n := float64(b.n)
	for name, sum := range map[string]float64{"there": milliseconds(used.sum()), "arriving": milliseconds(used.sum() + created.sum())} {
		b.add(name+".raw.requests", float64(len(b.writes)))
		b.add(name+".raw.cpu", milliseconds(used["benchmark"])/n)
		b.add(name+".raw.cpu.sum", sum/n)
	}
	return nil
}

func (b *benchmark) convergeThere(ctx context.Context, p *controlPlane) error {
	if err := p.createEchoes(ctx, b.n); err != nil {
		return err
	}
	return b.observe(ctx, p, "there.operator", func() error {
		if _, err := p.start(ctx, b.manager); err != nil {
			return err
		}
		return p.awaitEvents(ctx, b.n)
	})
}

func (b *benchmark) convergeArriving(ctx context.Context, p *controlPlane) error {
	if _, err := p.start(ctx, b.manager); err != nil {
		return err
	}
	return b.observe(ctx, p, "arriving.operator", func() error {
		if err := p.createEchoes(ctx, b.n); err != nil {
			return err
		}
		return p.awaitEvents(ctx, b.n)
	})
}

// observe measures what the operator does for each Echo while a function runs, which starts the operator if it is not running.
func (b *benchmark) observe(ctx context.Context, p *controlPlane, name string, happen func() error) error {
	before := counts{}
	if p.current != nil {
		if err := p.awaitReconciles(ctx, p.current, 0); err != nil {
			return err
		}
		var err error
		if before, err = p.countsOf(ctx, p.current); err != nil {
			return err
		}
	}
	used, err := p.measure(ctx, happen)
	if err != nil {
		return err
	}
	after, err := p.countsOf(ctx, p.current)
	for what, value := range map[string]float64{
		"requests": after.requests - before.requests, "conflicts": after.conflicts - before.conflicts,
		"reconciles": after.reconciles - before.reconciles, "cpu": milliseconds(used["operator"]), "cpu.sum": milliseconds(used.sum()),
	} {
		b.add(name+"."+what, value/float64(b.n))
	}
	return err
}
