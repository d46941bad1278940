package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// startTimeout bounds how long an operator takes until it is idle.
const startTimeout = time.Minute

// The clients that are compared.
const (
	raw  = "raw"
	ours = "operator"
)

// converge compares the clients: with Echoes that are there when a client starts, and with Echoes that arrive when it is idle. Clients
// take turns, so that other load of the machine affects all of them.
func (b *benchmark) converge(ctx context.Context) error {
	for round := range b.rounds {
		for _, client := range []string{raw, ours} {
			for _, arriving := range []bool{false, true} {
				b.say("round %d of %d: %s, %s", round+1, b.rounds, client, mode(arriving))
				if err := b.oneRound(ctx, mode(arriving), client, b.n, arriving); err != nil {
					return fmt.Errorf("%s, %s: %w", client, mode(arriving), err)
				}
			}
		}
	}
	for i, created := range b.figures["arriving.operator.cpu.creator"] {
		b.figures.add("arriving.raw.cpu.writing", b.figures["arriving.raw.cpu.client"][i]-created) // without creating the Echoes
	}
	return nil
}

func mode(arriving bool) string {
	if arriving {
		return "arriving"
	}
	return "there"
}

// round is one client that converges a number of Echoes on a control plane of its own.
type round struct {
	*controlPlane
	client, creator *program // the creator is nil if it is not part of what is measured
	used            usage
	created         time.Duration // CPU time of the creator
	took            time.Duration
	passes          float64
}

func (b *benchmark) oneRound(ctx context.Context, name, client string, n int, arriving bool) (err error) {
	p, err := startControlPlane(ctx)
	if err != nil {
		return err
	}
	r := &round{controlPlane: p}
	defer func() { err = errors.Join(err, r.end()) }()
	if !arriving {
		if err := b.create(ctx, p, n); err != nil {
			return err
		}
	}
	if err := p.quiet(ctx, nil); err != nil {
		return err
	}
	switch {
	case client == raw:
		err = b.measureRaw(ctx, r, n, arriving)
	case arriving:
		err = b.measureArriving(ctx, r, n)
	default:
		err = b.measureThere(ctx, r, n)
	}
	if err != nil {
		return err
	}
	if err := b.verify(ctx, p, n); err != nil {
		return err
	}
	b.keep(name+"."+client, r, float64(n))
	return nil
}

func (r *round) end() error {
	var err error
	for _, g := range []*program{r.client, r.creator} {
		if g != nil {
			err = errors.Join(err, g.kill())
		}
	}
	return errors.Join(err, r.stop())
}

// create creates Echoes. More flags can have them converged, too.
func (b *benchmark) create(ctx context.Context, p *controlPlane, n int, more ...string) error {
	creator, err := startRaw(ctx, p, b.raw, creatorUser, rawFlags(n, append(more, "-create")...)...)
	if err != nil {
		return err
	}
	if err := creator.write(); err != nil {
		return err
	}
	_, _, err = creator.finish()
	return err
}

func (b *benchmark) measureRaw(ctx context.Context, r *round, n int, arriving bool) (err error) {
	flags, user := rawFlags(n, "-template="+b.template), controlplane.OperatorUser
	if arriving {
		flags, user = append(flags, "-create"), creatorUser
	}
	if r.client, err = startRaw(ctx, r.controlPlane, b.raw, user, flags...); err != nil {
		return err
	}
	before, err := r.before(ctx, nil)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.client.write(); err != nil {
		return err
	}
	if err := r.awaitEvents(ctx, b.events*n, timeoutFor(n)); err != nil {
		return r.client.failure(err)
	}
	r.took = time.Since(began)
	used, _, err := r.client.finish()
	if err != nil {
		return err
	}
	if err := r.quiet(ctx, nil); err != nil {
		return err
	}
	r.used, err = r.after(ctx, nil, before)
	r.used.client = used
	return err
}

// measureThere measures an operator from its start.
func (b *benchmark) measureThere(ctx context.Context, r *round, n int) error {
	before, err := r.before(ctx, nil)
	if err != nil {
		return err
	}
	began := time.Now()
	if r.client, err = startOperator(ctx, r.controlPlane, b.manager, r.kubeconfig(controlplane.OperatorUser)); err != nil {
		return err
	}
	return b.awaitOperator(ctx, r, before, began, n)
}

// measureArriving measures an operator that is idle when another process creates the Echoes.
func (b *benchmark) measureArriving(ctx context.Context, r *round, n int) (err error) {
	if r.client, err = startOperator(ctx, r.controlPlane, b.manager, r.kubeconfig(controlplane.OperatorUser)); err != nil {
		return err
	}
	if err := r.awaitMetrics(ctx, r.client); err != nil {
		return r.client.failure(err)
	}
	if r.creator, err = startRaw(ctx, r.controlPlane, b.raw, creatorUser, rawFlags(n, "-create")...); err != nil {
		return err
	}
	if err := r.quiet(ctx, r.client); err != nil {
		return err
	}
	before, err := r.before(ctx, r.client)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.creator.write(); err != nil {
		return err
	}
	if r.created, _, err = r.creator.finish(); err != nil {
		return err
	}
	return b.awaitOperator(ctx, r, before, began, n)
}

// awaitOperator waits until an operator has converged all Echoes and is quiet.
func (b *benchmark) awaitOperator(ctx context.Context, r *round, before usage, began time.Time, n int) error {
	if err := r.awaitEvents(ctx, b.events*n, timeoutFor(n)); err != nil {
		return r.client.failure(err)
	}
	r.took = time.Since(began)
	if err := r.quiet(ctx, r.client); err != nil {
		return err
	}
	var err error
	if r.used, err = r.after(ctx, r.client, before); err != nil {
		return err
	}
	metrics, err := r.metricsOf(ctx, r.client)
	r.passes = passes(metrics)
	return err
}

func timeoutFor(n int) time.Duration { return 2*time.Minute + time.Duration(n)*200*time.Millisecond }

// awaitMetrics waits until an operator serves its metrics.
func (p *controlPlane) awaitMetrics(ctx context.Context, g *program) error {
	return poll(ctx, startTimeout, func(ctx context.Context) (bool, error) {
		_, err := p.metricsOf(ctx, g)
		return err == nil, nil
	})
}

// keep keeps the figures of a round, most of them for one Echo.
func (b *benchmark) keep(name string, r *round, n float64) {
	perEcho := func(d time.Duration) float64 { return milliseconds(d) / n }
	f := b.figures
	f.add(name+".perSecond", n/r.took.Seconds())
	f.add(name+".cpu.apiServer", perEcho(r.used.apiServer))
	f.add(name+".cpu.etcd", perEcho(r.used.etcd))
	f.add(name+".cpu.client", perEcho(r.used.client))
	f.add(name+".cpu.creator", perEcho(r.created))
	f.add(name+".cpu.sum", perEcho(r.used.apiServer+r.used.etcd+r.used.client+r.created))
	f.add(name+".requests", r.used.requests.sum(isWork)/n)
	f.add(name+".conflicts", r.used.requests.sum(isConflict)/n)
	f.add(name+".effective", r.used.requests.sum(isEffective)/n)
	f.add(name+".passes", r.passes/n)
	for request, count := range r.used.requests {
		f.add(name+requestKey+request, count/n)
	}
	b.say("  %.1f Echoes/s; CPU per Echo: sum %.2f ms, client %.2f ms; %.3f requests, %.2f passes", n/r.took.Seconds(),
		f.last(name+".cpu.sum"), f.last(name+".cpu.client"), f.last(name+".requests"), f.last(name+".passes"))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
