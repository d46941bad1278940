package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	restTime = 2 * time.Minute
	// settleTime is how long the operator rests before its memory is read.
	settleTime = 10 * time.Second
)

// leaderElection are the flags for a lease.
func leaderElection() []string {
	return []string{"--leader-elect", "--leader-election-namespace=" + namespace}
}

// restart starts the operator where many Echoes are converged, and then adds their pods.
func (b *benchmark) restart(ctx context.Context) (err error) {
	p, err := b.startConverged(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	name := "restart." + strconv.Itoa(b.large)
	if err := b.restarts(ctx, p, name, b.large); err != nil {
		return err
	}
	if err := b.rest(ctx, p, name); err != nil {
		return err
	}
	if !b.selects("pods") {
		return nil
	}
	b.say("creating two pods for each of %d Echoes", b.large)
	if err := p.createPods(ctx, b.large); err != nil {
		return err
	}
	g, err := b.startQuiet(ctx, p) // it writes the status of each Echo, which is not measured
	if err != nil {
		return err
	}
	if err := g.kill(); err != nil {
		return err
	}
	return b.restarts(ctx, p, name+".pods", b.large)
}

// startConverged starts a control plane with converged Echoes.
func (b *benchmark) startConverged(ctx context.Context) (*controlPlane, error) {
	b.say("creating %d converged Echoes", b.large)
	p, err := startControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(b.create(ctx, p, b.large, "-template="+b.template), p.quiet(ctx, nil)); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// restarts measures the start of the operator a few times, and in other starts its memory: reading the metrics all the time needs some.
func (b *benchmark) restarts(ctx context.Context, p *controlPlane, name string, n int) error {
	for i := range b.rounds {
		b.say("start %d of %d: %s", i+1, b.rounds, name)
		if err := b.oneRestart(ctx, p, name, n); err != nil {
			return err
		}
		if err := b.oneRest(ctx, p, name); err != nil {
			return err
		}
	}
	return nil
}

// startQuiet starts the operator and waits until it rests.
func (b *benchmark) startQuiet(ctx context.Context, p *controlPlane) (*program, error) {
	g, err := startOperator(ctx, p, b.manager, p.kubeconfig(controlplane.OperatorUser))
	if err != nil {
		return nil, err
	}
	if err := p.quiet(ctx, g); err != nil {
		return nil, errors.Join(g.failure(err), g.kill())
	}
	return g, nil
}

func (b *benchmark) oneRestart(ctx context.Context, p *controlPlane, name string, n int) (err error) {
	before, err := p.before(ctx, nil)
	if err != nil {
		return err
	}
	g, err := startOperator(ctx, p, b.manager, p.kubeconfig(controlplane.OperatorUser))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.kill()) }()
	if err := p.awaitPasses(ctx, g, 1); err != nil {
		return g.failure(err)
	}
	first := time.Since(g.began)
	if err := p.awaitPasses(ctx, g, n); err != nil {
		return g.failure(err)
	}
	all := time.Since(g.began)
	if err := p.quiet(ctx, g); err != nil {
		return err
	}
	used, err := p.after(ctx, g, before)
	if err != nil {
		return err
	}
	b.figures.add(name+".firstPass", first.Seconds())
	b.figures.add(name+".allPasses", all.Seconds())
	b.figures.add(name+".cpu.client", used.client.Seconds())
	b.figures.add(name+".cpu.apiServer", used.apiServer.Seconds())
	b.figures.add(name+".writes", used.requests.sum(isEffective))
	b.say("  first pass after %.2f s, all after %.2f s", first.Seconds(), all.Seconds())
	return nil
}

// oneRest measures how much memory the operator has after a start and a while without work.
func (b *benchmark) oneRest(ctx context.Context, p *controlPlane, name string) (err error) {
	g, err := b.startQuiet(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.kill()) }()
	if err := pause(ctx, settleTime); err != nil {
		return err
	}
	memory, err := process.MemoryOf(g.pid())
	if err != nil {
		return err
	}
	metrics, err := p.metricsOf(ctx, g)
	if err != nil {
		return err
	}
	const mega = 1e6
	b.figures.add(name+".resident", float64(memory.Resident)/mega)
	b.figures.add(name+".anonymous", float64(memory.Anonymous)/mega)
	b.figures.add(name+".heap", liveHeap(metrics)/mega)
	b.say("  RSS %.1f MB, %.1f MB of it anonymous, live heap %.1f MB", b.figures.last(name+".resident"),
		b.figures.last(name+".anonymous"), b.figures.last(name+".heap"))
	return nil
}

// awaitPasses waits until an operator has made a number of passes.
func (p *controlPlane) awaitPasses(ctx context.Context, g *program, wanted int) error {
	return poll(ctx, timeoutFor(wanted), func(ctx context.Context) (bool, error) {
		metrics, err := p.metricsOf(ctx, g)
		return err == nil && passes(metrics) >= float64(wanted), nil
	})
}

// rest counts the requests of a start, and those of two minutes without changes. They go through a proxy, because the API server does not
// tell who asks it, and does not count all of discovery.
func (b *benchmark) rest(ctx context.Context, p *controlPlane, name string) (err error) {
	b.say("counting the requests of a start")
	r, g, end, err := b.startRecorded(ctx, p, leaderElection()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := errors.Join(p.awaitPasses(ctx, g, b.large), p.quiet(ctx, g)); err != nil {
		return g.failure(err)
	}
	started := r.counted()
	b.keepRequests(name, started)
	b.say("resting for %s", restTime)
	earlier, err := p.metricsOf(ctx, g)
	if err != nil {
		return err
	}
	before, err := p.usageOf(g)
	if err != nil {
		return err
	}
	if err := pause(ctx, restTime); err != nil {
		return err
	}
	after, err := p.usageOf(g)
	if err != nil {
		return err
	}
	later, err := p.metricsOf(ctx, g)
	if err != nil {
		return err
	}
	b.figures.add("rest.passes", passes(later)-passes(earlier))
	rested := r.counted().since(started)
	b.keepRequests("rest", rested)
	b.figures.add("rest.leases", rested.sum(func(request string) bool { return strings.Contains(request, "leases") }))
	b.figures.add("rest.cpu.client", (after.client - before.client).Seconds())
	return nil
}

// isOwnWork reports whether a request is neither for a lease, nor one that reading the metrics or being elected causes, nor the one for an
// optional API.
func isOwnWork(request string) bool {
	for _, other := range []string{"leases", "reviews", "/events", "config.openshift.io", "monitoring.coreos.com",
		"gateway.networking.k8s.io"} {
		if strings.Contains(request, other) {
			return false
		}
	}
	return true
}

func (b *benchmark) keepRequests(name string, requests counts) {
	b.figures.add(name+".requests", requests.sum(isOwnWork))
	for request, count := range requests {
		b.figures.add(name+requestKey+request, count)
	}
	b.say("  %s", fmt.Sprint(map[string]float64(requests)))
}
