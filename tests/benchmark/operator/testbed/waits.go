package testbed

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
)

const (
	// StartTimeout limits how long a program may take to start.
	StartTimeout = time.Minute
	// Silence is the idle time that must elapse before a measurement is complete.
	Silence = 2 * time.Second
)

// Poll waits until a condition is met.
func Poll(ctx context.Context, timeout time.Duration, condition wait.ConditionWithContextFunc) error {
	const every = 50 * time.Millisecond
	return PollEvery(ctx, every, timeout, condition)
}

// PollEvery checks a condition at a given interval until the condition is met. Use it with a long interval for conditions that are
// expensive to check.
func PollEvery(ctx context.Context, every, timeout time.Duration, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, every, timeout, true, condition)
}

// Pause waits for a duration, or until the context is done.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TimeoutFor returns the maximum time that operations on a number of Echoes may take.
func TimeoutFor(n int) time.Duration { return 2*time.Minute + time.Duration(n)*200*time.Millisecond }

// AwaitMetrics waits until an operator serves its metrics.
func (p *ControlPlane) AwaitMetrics(ctx context.Context, g *Program) error {
	return Poll(ctx, StartTimeout, func(ctx context.Context) (bool, error) {
		_, err := p.MetricsOf(ctx, g)
		return err == nil, nil
	})
}

// AwaitReconciles waits until an operator has completed the given number of reconciles.
func (p *ControlPlane) AwaitReconciles(ctx context.Context, g *Program, wanted int) error {
	return Poll(ctx, TimeoutFor(wanted), func(ctx context.Context) (bool, error) {
		metrics, err := p.MetricsOf(ctx, g)
		return err == nil && requests.Reconciles(metrics) >= float64(wanted), nil
	})
}

const leaseName = "echo-operator.example.com"

// AwaitLease waits until an operator holds the lease.
func (p *ControlPlane) AwaitLease(ctx context.Context) error {
	return Poll(ctx, StartTimeout, func(ctx context.Context) (bool, error) {
		lease := &coordinationv1.Lease{}
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: leaseName}, lease)
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", client.IgnoreNotFound(err)
	})
}

// AwaitEvents waits for a number of events, because events are the last objects that are written for Echoes.
func (p *ControlPlane) AwaitEvents(ctx context.Context, wanted int, timeout time.Duration) error {
	var there int
	err := Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		list := &eventsv1.EventList{}
		if err := p.Client.List(ctx, list, client.InNamespace(Namespace), client.Limit(1)); err != nil {
			return false, err
		}
		there = len(list.Items)
		if list.RemainingItemCount != nil {
			there += int(*list.RemainingItemCount)
		}
		return there >= wanted, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("there are %d events instead of %d after %s", there, wanted, timeout)
	}
	return err
}

// Quiet waits until the average CPU usage of the processes over the duration Silence is less than one eighth of a core.
func (p *ControlPlane) Quiet(ctx context.Context, g *Program) error {
	const timeout, limit = 2 * time.Minute, Silence / 8
	for began := time.Now(); time.Since(began) < timeout; {
		before, err := p.UsageOf(g)
		if err != nil {
			return err
		}
		if err := Pause(ctx, Silence); err != nil {
			return err
		}
		after, err := p.UsageOf(g)
		if err != nil || after.APIServer+after.Etcd+after.Client-before.APIServer-before.Etcd-before.Client < limit {
			return err
		}
	}
	return fmt.Errorf("the processes are still busy after %s", timeout)
}
