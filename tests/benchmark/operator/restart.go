package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/figures"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	restTime = 2 * time.Minute
	// settleTime is how long the operator is idle before its memory is measured.
	settleTime = 10 * time.Second
)

// leaderElection returns the flags that enable leader election.
func leaderElection() []string {
	return []string{"--leader-elect", "--leader-election-namespace=" + testbed.Namespace}
}

// restart measures starts with many converged Echoes, first without and then with pods.
func (b *benchmark) restart(ctx context.Context) (err error) {
	p, err := b.startConverged(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
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
	if err := p.CreatePods(ctx, b.large); err != nil {
		return err
	}
	g, err := b.startQuiet(ctx, p) // the first start writes the status of each Echo, and is not measured
	if err != nil {
		return err
	}
	if err := g.Kill(); err != nil {
		return err
	}
	return b.restarts(ctx, p, name+".pods", b.large)
}

// startConverged starts a control plane with converged Echoes.
func (b *benchmark) startConverged(ctx context.Context) (*testbed.ControlPlane, error) {
	b.say("creating %d converged Echoes", b.large)
	p, err := testbed.StartControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(b.create(ctx, p, b.large, "-template="+b.template), p.Quiet(ctx, nil)); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// restarts measures several starts of the operator and the bare manager. It measures memory in separate starts, because continuously
// reading the metrics uses memory.
func (b *benchmark) restarts(ctx context.Context, p *testbed.ControlPlane, name string, n int) error {
	for i := range b.rounds {
		b.say("start %d of %d: %s", i+1, b.rounds, name)
		if err := b.oneRestart(ctx, p, name, b.manager, n); err != nil {
			return err
		}
		if err := b.oneRestart(ctx, p, name+".bare", b.bare, n); err != nil {
			return err
		}
		if err := b.oneRest(ctx, p, name); err != nil {
			return err
		}
	}
	return nil
}

// startQuiet starts the operator and waits until it is idle.
func (b *benchmark) startQuiet(ctx context.Context, p *testbed.ControlPlane) (*testbed.Program, error) {
	g, err := testbed.StartOperator(ctx, p, b.manager, p.Kubeconfig(controlplane.OperatorUser))
	if err != nil {
		return nil, err
	}
	if err := p.Quiet(ctx, g); err != nil {
		return nil, errors.Join(g.Failure(err), g.Kill())
	}
	return g, nil
}

// oneRestart measures a start of the operator, or of the bare manager.
func (b *benchmark) oneRestart(ctx context.Context, p *testbed.ControlPlane, name, path string, n int) (err error) {
	before, err := p.Before(ctx, nil)
	if err != nil {
		return err
	}
	g, err := testbed.StartOperator(ctx, p, path, p.Kubeconfig(controlplane.OperatorUser))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Kill()) }()
	if err := p.AwaitReconciles(ctx, g, 1); err != nil {
		return g.Failure(err)
	}
	first := time.Since(g.Began)
	if err := p.AwaitReconciles(ctx, g, n); err != nil {
		return g.Failure(err)
	}
	all := time.Since(g.Began)
	if err := p.Quiet(ctx, g); err != nil {
		return err
	}
	used, err := p.After(ctx, g, before)
	if err != nil {
		return err
	}
	b.figures.Add(name+".firstReconcile", first.Seconds())
	b.figures.Add(name+".allReconciles", all.Seconds())
	b.figures.Add(name+".cpu.client", used.Client.Seconds())
	b.figures.Add(name+".cpu.apiServer", used.APIServer.Seconds())
	b.figures.Add(name+".writes", used.Requests.Sum(requests.IsEffective))
	b.say("  %s: first reconcile after %.2f s, all after %.2f s", filepath.Base(path), first.Seconds(), all.Seconds())
	return nil
}

// oneRest starts the operator, and measures its memory after an idle period.
func (b *benchmark) oneRest(ctx context.Context, p *testbed.ControlPlane, name string) (err error) {
	g, err := b.startQuiet(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Kill()) }()
	if err := testbed.Pause(ctx, settleTime); err != nil {
		return err
	}
	memory, err := process.MemoryOf(g.PID())
	if err != nil {
		return err
	}
	metrics, err := p.MetricsOf(ctx, g)
	if err != nil {
		return err
	}
	const mega = 1e6
	b.figures.Add(name+".resident", float64(memory.Resident)/mega)
	b.figures.Add(name+".anonymous", float64(memory.Anonymous)/mega)
	b.figures.Add(name+".heap", requests.LiveHeap(metrics)/mega)
	b.say("  RSS %.1f MB, of which %.1f MB are anonymous, live heap %.1f MB", b.figures.Last(name+".resident"),
		b.figures.Last(name+".anonymous"), b.figures.Last(name+".heap"))
	return nil
}

// rest counts the operator's requests during a start, and then during two minutes without changes. A proxy counts the requests, because the
// API server does not report which client sent a request, and does not count some discovery requests.
func (b *benchmark) rest(ctx context.Context, p *testbed.ControlPlane, name string) (err error) {
	b.say("counting the requests of a start")
	r, g, end, err := startRecorded(ctx, p, b.manager, leaderElection()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := errors.Join(p.AwaitReconciles(ctx, g, b.large), p.Quiet(ctx, g)); err != nil {
		return g.Failure(err)
	}
	started := r.counted()
	b.keepRequests(name, started)
	b.say("resting for %s", restTime)
	earlier, err := p.MetricsOf(ctx, g)
	if err != nil {
		return err
	}
	before, err := p.UsageOf(g)
	if err != nil {
		return err
	}
	if err := testbed.Pause(ctx, restTime); err != nil {
		return err
	}
	after, err := p.UsageOf(g)
	if err != nil {
		return err
	}
	later, err := p.MetricsOf(ctx, g)
	if err != nil {
		return err
	}
	b.figures.Add("rest.reconciles", requests.Reconciles(later)-requests.Reconciles(earlier))
	rested := r.counted().Since(started)
	b.keepRequests("rest", rested)
	b.figures.Add("rest.leases", rested.Sum(func(request string) bool { return strings.Contains(request, "leases") }))
	b.figures.Add("rest.cpu.client", (after.Client - before.Client).Seconds())
	return nil
}

// isOwnWork excludes requests for leases and optional APIs, and requests that result from leader election or from reading the metrics.
func isOwnWork(request string) bool {
	for _, other := range []string{"leases", "reviews", "/events", "config.openshift.io", "monitoring.coreos.com",
		"gateway.networking.k8s.io"} {
		if strings.Contains(request, other) {
			return false
		}
	}
	return true
}

func (b *benchmark) keepRequests(name string, requests requests.Counts) {
	b.figures.Add(name+".requests", requests.Sum(isOwnWork))
	for request, count := range requests {
		b.figures.Add(name+figures.RequestKey+request, count)
	}
	b.say("  %s", fmt.Sprint(map[string]float64(requests)))
}
