package testbed

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// singleTimeout limits the wait for each object of a single Echo.
const singleTimeout = time.Minute

// Observer watches Deployments and events. The last object that the operator writes for an Echo is an event.
type Observer struct {
	client              client.Client
	deployments, events watch.Interface
}

// Observe starts watching.
func (p *ControlPlane) Observe(ctx context.Context) (o *Observer, err error) {
	o = &Observer{client: p.Client}
	if o.deployments, err = p.Client.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(Namespace)); err != nil {
		return nil, err
	}
	o.events, err = p.Client.Watch(ctx, &eventsv1.EventList{}, client.InNamespace(Namespace))
	return o, err
}

// Stop stops the watches.
func (o *Observer) Stop() {
	o.deployments.Stop()
	o.events.Stop()
}

// Create creates an Echo and waits until it has converged.
func (o *Observer) Create(ctx context.Context, name string) (Timing, error) {
	echo := &v1.Echo{Spec: v1.EchoSpec{Replicas: new(int32(PodsPerEcho))}}
	echo.Name, echo.Namespace = name, Namespace
	began, took := time.Now(), Timing{}
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

// await waits until an object that meets a condition is added or modified.
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
