package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/figures"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// These are the clients to compare.
const (
	raw  = "raw"
	ours = testbed.OperatorName
)

// converge compares the clients. In one measurement, the Echoes already exist when the client starts. In the other measurement, the Echoes
// are created afterward. The clients take turns, so that other load on the machine affects all of them.
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
		b.figures.Add("arriving.raw.cpu.writing", b.figures["arriving.raw.cpu.client"][i]-created) // excludes the creation of the Echoes
	}
	return nil
}

func mode(arriving bool) string {
	if arriving {
		return "arriving"
	}
	return "there"
}

// round is one measurement, in which a client converges Echoes on a separate control plane.
type round struct {
	*testbed.ControlPlane
	client, creator *testbed.Program // creator is nil if it is not measured
	used            testbed.Usage
	created         time.Duration // CPU time of the creator
	took            time.Duration
	reconciles      float64
}

func (b *benchmark) oneRound(ctx context.Context, name, client string, n int, arriving bool) (err error) {
	p, err := testbed.StartControlPlane(ctx)
	if err != nil {
		return err
	}
	r := &round{ControlPlane: p}
	defer func() { err = errors.Join(err, r.end()) }()
	if !arriving {
		if err := b.create(ctx, p, n); err != nil {
			return err
		}
	}
	if err := p.Quiet(ctx, nil); err != nil {
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
	for _, g := range []*testbed.Program{r.client, r.creator} {
		if g != nil {
			err = errors.Join(err, g.Kill())
		}
	}
	return errors.Join(err, r.Stop())
}

// create creates Echoes. With the -template flag, it also converges the Echoes.
func (b *benchmark) create(ctx context.Context, p *testbed.ControlPlane, n int, more ...string) error {
	creator, err := testbed.StartRaw(ctx, p, b.raw, testbed.CreatorUser, testbed.RawFlags(n, append(more, "-create")...)...)
	if err != nil {
		return err
	}
	if err := creator.Write(); err != nil {
		return err
	}
	_, _, err = creator.Finish()
	return err
}

func (b *benchmark) measureRaw(ctx context.Context, r *round, n int, arriving bool) (err error) {
	flags, user := testbed.RawFlags(n, "-template="+b.template), controlplane.OperatorUser
	if arriving {
		flags, user = append(flags, "-create"), testbed.CreatorUser
	}
	if r.client, err = testbed.StartRaw(ctx, r.ControlPlane, b.raw, user, flags...); err != nil {
		return err
	}
	before, err := r.Before(ctx, nil)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.client.Write(); err != nil {
		return err
	}
	if err := r.AwaitEvents(ctx, b.events*n, testbed.TimeoutFor(n)); err != nil {
		return r.client.Failure(err)
	}
	r.took = time.Since(began)
	used, _, err := r.client.Finish()
	if err != nil {
		return err
	}
	if err := r.Quiet(ctx, nil); err != nil {
		return err
	}
	r.used, err = r.After(ctx, nil, before)
	r.used.Client = used
	return err
}

// measureThere measures an operator that starts after the Echoes were created.
func (b *benchmark) measureThere(ctx context.Context, r *round, n int) error {
	before, err := r.Before(ctx, nil)
	if err != nil {
		return err
	}
	began := time.Now()
	if r.client, err = testbed.StartOperator(ctx, r.ControlPlane, b.manager, r.Kubeconfig(controlplane.OperatorUser)); err != nil {
		return err
	}
	return b.awaitOperator(ctx, r, before, began, n)
}

// measureArriving measures an operator that is idle when another process creates the Echoes.
func (b *benchmark) measureArriving(ctx context.Context, r *round, n int) (err error) {
	if r.client, err = testbed.StartOperator(ctx, r.ControlPlane, b.manager, r.Kubeconfig(controlplane.OperatorUser)); err != nil {
		return err
	}
	if err := r.AwaitMetrics(ctx, r.client); err != nil {
		return r.client.Failure(err)
	}
	if r.creator, err = testbed.StartRaw(ctx, r.ControlPlane, b.raw, testbed.CreatorUser, testbed.RawFlags(n, "-create")...); err != nil {
		return err
	}
	if err := r.Quiet(ctx, r.client); err != nil {
		return err
	}
	before, err := r.Before(ctx, r.client)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.creator.Write(); err != nil {
		return err
	}
	if r.created, _, err = r.creator.Finish(); err != nil {
		return err
	}
	return b.awaitOperator(ctx, r, before, began, n)
}

// awaitOperator waits until an operator has converged all Echoes and is idle.
func (b *benchmark) awaitOperator(ctx context.Context, r *round, before testbed.Usage, began time.Time, n int) error {
	if err := r.AwaitEvents(ctx, b.events*n, testbed.TimeoutFor(n)); err != nil {
		return r.client.Failure(err)
	}
	r.took = time.Since(began)
	if err := r.Quiet(ctx, r.client); err != nil {
		return err
	}
	var err error
	if r.used, err = r.After(ctx, r.client, before); err != nil {
		return err
	}
	metrics, err := r.MetricsOf(ctx, r.client)
	r.reconciles = requests.Reconciles(metrics)
	return err
}

// keep records the figures of a round. Most figures are per Echo.
func (b *benchmark) keep(name string, r *round, n float64) {
	perEcho := func(d time.Duration) float64 { return milliseconds(d) / n }
	f := b.figures
	f.Add(name+".perSecond", n/r.took.Seconds())
	f.Add(name+".cpu.apiServer", perEcho(r.used.APIServer))
	f.Add(name+".cpu.etcd", perEcho(r.used.Etcd))
	f.Add(name+".cpu.client", perEcho(r.used.Client))
	f.Add(name+".cpu.creator", perEcho(r.created))
	f.Add(name+".cpu.sum", perEcho(r.used.APIServer+r.used.Etcd+r.used.Client+r.created))
	f.Add(name+".requests", r.used.Requests.Sum(requests.IsWork)/n)
	f.Add(name+".conflicts", r.used.Requests.Sum(requests.IsConflict)/n)
	f.Add(name+".effective", r.used.Requests.Sum(requests.IsEffective)/n)
	f.Add(name+".reconciles", r.reconciles/n)
	for request, count := range r.used.Requests {
		f.Add(name+figures.RequestKey+request, count/n)
	}
	b.say("  %.1f Echoes/s; CPU per Echo: sum %.2f ms, client %.2f ms; %.3f requests, %.2f reconciles", n/r.took.Seconds(),
		f.Last(name+".cpu.sum"), f.Last(name+".cpu.client"), f.Last(name+".requests"), f.Last(name+".reconciles"))
}

// verify fails unless the Echoes are converged, so that an operator that does too little does not appear to be fast.
func (b *benchmark) verify(ctx context.Context, p *testbed.ControlPlane, echoes int) error {
	found, err := p.Inventory(ctx)
	if err != nil {
		return err
	}
	wanted := maps.Clone(b.perEcho)
	for kind := range wanted {
		wanted[kind] *= echoes
	}
	if !reflect.DeepEqual(found, wanted) {
		return fmt.Errorf("the children are %v, not %v", found, wanted)
	}
	list := &v1.EchoList{}
	if err := p.Client.List(ctx, list, client.InNamespace(testbed.Namespace)); err != nil {
		return err
	}
	if len(list.Items) != echoes {
		return fmt.Errorf("there are %d Echoes, not %d", len(list.Items), echoes)
	}
	for i := range list.Items {
		echo := &list.Items[i]
		if !controllerutil.ContainsFinalizer(echo, v1.Finalizer) || len(echo.Status.Conditions) == 0 {
			return fmt.Errorf("%s has no finalizer or no status: %v, %v", echo.Name, echo.Finalizers, echo.Status)
		}
	}
	return nil
}
