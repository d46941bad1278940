package main

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
)

// usage is the CPU time that the processes have used, and the requests that the API server has answered.
type usage struct {
	apiServer, etcd, client time.Duration
	requests                counts
}

// usageOf returns what the control plane and a client have used. The client may be nil.
func (p *controlPlane) usageOf(g *program) (usage, error) {
	u := usage{}
	var err error
	if u.apiServer, err = process.CPUTime(p.apiServer); err != nil {
		return u, err
	}
	if u.etcd, err = process.CPUTime(p.etcd); err != nil || g == nil {
		return u, err
	}
	u.client, err = process.CPUTime(g.pid())
	return u, err
}

// before returns the usage before something is measured, so that reading it is not part of the measurement.
func (p *controlPlane) before(ctx context.Context, g *program) (usage, error) {
	metrics, err := p.apiServerMetrics(ctx)
	if err != nil {
		return usage{}, err
	}
	u, err := p.usageOf(g)
	u.requests = requestCounts(metrics)
	return u, err
}

// after returns what was used since the usage before.
func (p *controlPlane) after(ctx context.Context, g *program, before usage) (usage, error) {
	u, err := p.usageOf(g)
	if err != nil {
		return u, err
	}
	metrics, err := p.apiServerMetrics(ctx)
	if err != nil {
		return u, err
	}
	return usage{u.apiServer - before.apiServer, u.etcd - before.etcd, u.client - before.client,
		requestCounts(metrics).since(before.requests)}, nil
}

// quiet waits until the processes have used less than an eighth of a core for a while.
func (p *controlPlane) quiet(ctx context.Context, g *program) error {
	const timeout, limit = 2 * time.Minute, silence / 8
	for began := time.Now(); time.Since(began) < timeout; {
		before, err := p.usageOf(g)
		if err != nil {
			return err
		}
		if err := pause(ctx, silence); err != nil {
			return err
		}
		after, err := p.usageOf(g)
		if err != nil || after.apiServer+after.etcd+after.client-before.apiServer-before.etcd-before.client < limit {
			return err
		}
	}
	return fmt.Errorf("not quiet after %s", timeout)
}

// pause waits for a time that is part of a measurement.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitEvents waits until there is a number of events, the last things that are written for Echoes.
func (p *controlPlane) awaitEvents(ctx context.Context, wanted int, timeout time.Duration) error {
	var there int
	err := poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		list := &eventsv1.EventList{}
		if err := p.client.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
			return false, err
		}
		there = len(list.Items)
		if list.RemainingItemCount != nil {
			there += int(*list.RemainingItemCount)
		}
		return there >= wanted, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%d events, not %d, after %s", there, wanted, timeout)
	}
	return err
}

// inventory returns how many objects of each kind there are for Echoes.
func (p *controlPlane) inventory(ctx context.Context) (map[string]int, error) {
	found := map[string]int{}
	for _, kind := range desired.Kinds() {
		gvk, err := apiutil.GVKForObject(kind, p.client.Scheme())
		if err != nil {
			return nil, err
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		if err := p.client.List(ctx, list, client.InNamespace(namespace),
			client.MatchingLabelsSelector{Selector: children.ManagedSelector()}); err != nil {
			return nil, err
		}
		if len(list.Items) > 0 {
			found[gvk.Kind] = len(list.Items)
		}
	}
	return found, nil
}

// verify fails if Echoes are not converged, so that an operator that does too little cannot win.
func (b *benchmark) verify(ctx context.Context, p *controlPlane, echoes int) error {
	found, err := p.inventory(ctx)
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
	if err := p.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	if len(list.Items) != echoes {
		return fmt.Errorf("%d Echoes, not %d", len(list.Items), echoes)
	}
	for i := range list.Items {
		echo := &list.Items[i]
		if !controllerutil.ContainsFinalizer(echo, v1.Finalizer) || len(echo.Status.Conditions) == 0 {
			return fmt.Errorf("%s has no finalizer or no status: %v, %v", echo.Name, echo.Finalizers, echo.Status)
		}
	}
	return nil
}
