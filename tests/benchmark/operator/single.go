package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// singles is the number of Echoes that are created one after the other.
	singles = 50
	// singleTimeout bounds how long one of them takes.
	singleTimeout = time.Minute
)

// single measures how long one Echo takes when nothing else happens: by the operator that is idle, and by the raw writer.
func (b *benchmark) single(ctx context.Context) (err error) {
	b.say("%d Echoes one after the other", singles)
	p, err := startControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := b.rawSingles(ctx, p); err != nil {
		return err
	}
	g, err := startOperator(ctx, p, b.manager, p.kubeconfig(controlplane.OperatorUser))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.kill()) }()
	if err := errors.Join(p.awaitPasses(ctx, g, singles), p.quiet(ctx, g)); err != nil {
		return g.failure(err)
	}
	o, err := p.observe(ctx)
	if err != nil {
		return err
	}
	defer o.stop()
	for i := range singles {
		took, err := o.create(ctx, fmt.Sprintf("echo-%05d", singles+i))
		if err != nil {
			return g.failure(err)
		}
		b.figures.add("single.operator.deployment", milliseconds(took.Deployment))
		b.figures.add("single.operator.last", milliseconds(took.Last))
	}
	return nil
}

func (b *benchmark) rawSingles(ctx context.Context, p *controlPlane) error {
	g, err := startRaw(ctx, p, b.raw, creatorUser, rawFlags(singles, "-template="+b.template, "-create", "-workers=1")...)
	if err != nil {
		return err
	}
	if err := g.write(); err != nil {
		return err
	}
	_, times, err := g.finish()
	for _, t := range times {
		b.figures.add("single.raw.deployment", milliseconds(t.Deployment))
		b.figures.add("single.raw.last", milliseconds(t.Last))
	}
	return err
}

// observer watches Deployments and events. An event is the last thing that is written for an Echo.
type observer struct {
	client              client.Client
	deployments, events watch.Interface
}

// observe begins to watch.
func (p *controlPlane) observe(ctx context.Context) (o *observer, err error) {
	o = &observer{client: p.client}
	if o.deployments, err = p.client.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	o.events, err = p.client.Watch(ctx, &eventsv1.EventList{}, client.InNamespace(namespace))
	return o, err
}

func (o *observer) stop() {
	o.deployments.Stop()
	o.events.Stop()
}

// create creates an Echo and waits until it is converged.
func (o *observer) create(ctx context.Context, name string) (timing, error) {
	echo := &v1.Echo{Spec: v1.EchoSpec{Replicas: podsPerEcho}}
	echo.Name, echo.Namespace = name, namespace
	began, took := time.Now(), timing{}
	if err := o.client.Create(ctx, echo); err != nil {
		return took, err
	}
	if err := await(ctx, o.deployments, singleTimeout, func(object any) bool { return object.(*appsv1.Deployment).Name == name }); err != nil {
		return took, err
	}
	took.Deployment = time.Since(began)
	err := await(ctx, o.events, singleTimeout, func(object any) bool { return object.(*eventsv1.Event).Regarding.Name == name })
	took.Last = time.Since(began)
	return took, err
}

// await waits until an object with a property was added or changed.
func await(ctx context.Context, w watch.Interface, timeout time.Duration, wanted func(object any) bool) error {
	end := time.After(timeout)
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open || event.Type == watch.Error {
				return fmt.Errorf("the watch ended: %v", event.Object)
			}
			if event.Type != watch.Bookmark && wanted(event.Object) {
				return nil
			}
		case <-end:
			return fmt.Errorf("nothing was written within %s", timeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// start measures how long the operator takes until its first watch where nothing is there, and its memory with one Echo.
func (b *benchmark) start(ctx context.Context) (err error) {
	p, err := startControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	const starts = 7
	for i := range starts {
		b.say("start %d of %d with nothing there", i+1, starts)
		if err := p.quiet(ctx, nil); err != nil {
			return err
		}
		if err := b.firstWatch(ctx, p); err != nil {
			return err
		}
	}
	if err := errors.Join(b.create(ctx, p, 1, "-template="+b.template), p.quiet(ctx, nil)); err != nil {
		return err
	}
	return b.restarts(ctx, p, "restart.1", 1)
}

func (b *benchmark) firstWatch(ctx context.Context, p *controlPlane) error {
	r, g, end, err := b.startRecorded(ctx, p)
	if err != nil {
		return err
	}
	if err := poll(ctx, startTimeout, r.watching); err != nil {
		return errors.Join(g.failure(err), end())
	}
	b.figures.add("start.firstWatch", milliseconds(r.firstWatch.Sub(g.began)))
	b.say("  %.0f ms", b.figures.last("start.firstWatch"))
	return end()
}
