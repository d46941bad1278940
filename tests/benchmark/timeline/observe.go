package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

const (
	// readyTimeout and goneTimeout limit how long an Echo may take to become ready and to disappear, and allow for a busy machine.
	readyTimeout, goneTimeout = 3 * time.Minute, 4 * time.Minute
	// enough is larger than the number of events in a timeline, so that stamp never waits.
	enough = 1000
)

// observer creates Echoes in a namespace and watches their progress.
type observer struct {
	client    client.WithWatch
	namespace string
}

// sighting is an event with its arrival time.
type sighting struct {
	at    time.Time
	event watch.Event
}

// observe creates an Echo, waits until it is ready, and removes it. It returns the Echo's timeline.
func (o *observer) observe(ctx context.Context, name string) (line, error) {
	echo := support.Echo(o.namespace, name, func(e *v1.Echo) { // a single pod that nevertheless has a PodDisruptionBudget
		e.Spec.Replicas, e.Spec.DisruptionBudget.MaxUnavailable = new(int32(1)), new(int32(0))
	})
	l, err := o.create(ctx, echo)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := o.remove(ctx, echo); err != nil {
		return nil, fmt.Errorf("deleting %s: %w", name, err)
	}
	return l, nil
}

// create creates an Echo, and returns the time at which each step was observed.
func (o *observer) create(ctx context.Context, echo *v1.Echo) (line, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	sightings, err := o.watch(ctx, echo)
	if err != nil {
		return nil, err
	}
	began, l := time.Now(), line{}
	if err := o.client.Create(ctx, echo); err != nil {
		return nil, err
	}
	l[applied] = time.Since(began)
	for len(l.missing()) > 0 {
		select {
		case s := <-sightings:
			if s.event.Type == watch.Error {
				return nil, fmt.Errorf("a watch ended: %w", apierrors.FromObject(s.event.Object))
			}
			if object, ok := s.event.Object.(client.Object); ok {
				l.note(object, s.at.Sub(began))
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("not seen: %v: %w", l.missing(), ctx.Err())
		}
	}
	return l, nil
}

// watch starts watching the Echo and the objects that are created for it.
func (o *observer) watch(ctx context.Context, echo *v1.Echo) (<-chan sighting, error) {
	sightings := make(chan sighting, enough)
	labeled := client.MatchingLabels(objects.SelectorLabels(echo))
	for _, watched := range []struct {
		list  client.ObjectList
		which client.ListOption
	}{
		{&v1.EchoList{}, client.MatchingFields{"metadata.name": echo.Name}},
		{&corev1.ServiceList{}, labeled},
		{&appsv1.DeploymentList{}, labeled},
		{&policyv1.PodDisruptionBudgetList{}, labeled},
		{&appsv1.ReplicaSetList{}, labeled},
		{&corev1.PodList{}, labeled},
	} {
		w, err := o.client.Watch(ctx, watched.list, client.InNamespace(o.namespace), watched.which)
		if err != nil {
			return nil, err
		}
		go stamp(ctx, w, sightings)
	}
	return sightings, nil
}

// stamp records the arrival time of events.
func stamp(ctx context.Context, w watch.Interface, sightings chan<- sighting) {
	defer w.Stop()
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				return
			}
			sightings <- sighting{time.Now(), event}
		case <-ctx.Done():
			return
		}
	}
}

// remove deletes an Echo, and waits until it is gone.
func (o *observer) remove(ctx context.Context, echo *v1.Echo) error {
	if err := o.client.Delete(ctx, echo); err != nil {
		return err
	}
	const interval = 100 * time.Millisecond
	return wait.PollUntilContextTimeout(ctx, interval, goneTimeout, true, func(ctx context.Context) (bool, error) {
		err := o.client.Get(ctx, client.ObjectKeyFromObject(echo), &v1.Echo{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
