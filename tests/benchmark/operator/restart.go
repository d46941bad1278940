package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
)

// leaderElection returns the flags that enable leader election.
func leaderElection() []string {
	return []string{"--leader-elect", "--leader-election-namespace=" + namespace}
}

// restart measures starts with many converged Echoes, first without and then with pods.
func (b *benchmark) restart(ctx context.Context) error {
	b.say("creating %d converged Echoes", b.large)
	return onControlPlane(ctx, func(p *controlPlane) error {
		if err := errors.Join(p.createEchoes(ctx, b.large), b.sendWrites(ctx, p)); err != nil {
			return err
		}
		if err := errors.Join(b.memory(ctx, p, "restart"), b.rest(ctx, p)); err != nil {
			return err
		}
		b.say("creating two pods for each of %d Echoes", b.large)
		if err := p.createPods(ctx, "echo-%05d", b.large); err != nil {
			return err
		}
		g, err := p.startQuiet(ctx, b.manager) // writes the status of each Echo, and is not measured
		if err != nil {
			return err
		}
		p.kill(g)
		return b.memory(ctx, p, "restart.pods")
	})
}

// memory measures the memory of operators that have started and have been idle for a while.
func (b *benchmark) memory(ctx context.Context, p *controlPlane, name string) error {
	for range b.rounds {
		g, err := p.startQuiet(ctx, b.manager)
		if err != nil {
			return err
		}
		if err := pause(ctx, 10*time.Second); err != nil {
			return err
		}
		resident, err := process.Resident(g.pid())
		if err != nil {
			return err
		}
		b.add(name+".resident", float64(resident)/mega)
		p.kill(g)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rest counts the operator's requests during a start, and then during two minutes without changes.
func (b *benchmark) rest(ctx context.Context, p *controlPlane) error {
	r, g, err := p.startRecorded(ctx, b.manager, leaderElection()...)
	if err != nil {
		return err
	}
	defer p.kill(g)
	if err := errors.Join(p.awaitReconciles(ctx, g, b.large), p.quiet(ctx)); err != nil {
		return err
	}
	started := r.sent()
	if err := pause(ctx, 2*time.Minute); err != nil {
		return err
	}
	rested := r.sent()[len(started):]
	b.add("restart.requests", b.countOf(started, "start", isOwn))
	b.add("restart.writes", b.countOf(started, "writes of the start", isWrite))
	b.add("rest.requests", b.countOf(rested, "rest", isOwn))
	return nil
}

// countOf returns the number of requests that meet a condition, and prints them.
func (b *benchmark) countOf(requests []string, name string, condition func(request string) bool) float64 {
	found := slices.DeleteFunc(slices.Clone(requests), func(request string) bool { return !condition(request) })
	b.say("  %s: %.1000s", name, fmt.Sprint(found))
	return float64(len(found))
}

// isOwn excludes requests for leases and optional APIs, and requests that result from leader election or from reading the metrics.
func isOwn(request string) bool {
	others := []string{"leases", "reviews", "/events", "config.openshift.io", "monitoring.coreos.com", "gateway.networking.k8s.io"}
	return !slices.ContainsFunc(others, func(other string) bool { return strings.Contains(request, other) })
}

func isWrite(request string) bool {
	return isOwn(request) && !strings.HasPrefix(request, "GET ") && !strings.HasPrefix(request, "WATCH ")
}

// failover measures how long a new Echo waits for its Deployment after the leader of two replicas shuts down gracefully or is killed.
func (b *benchmark) failover(ctx context.Context) error {
	return onControlPlane(ctx, func(p *controlPlane) error {
		leader, err := p.startQuiet(ctx, b.manager, leaderElection()...)
		if err != nil {
			return err
		}
		for range b.rounds {
			for figure, signal := range map[string]os.Signal{"failover.clean": syscall.SIGTERM, "failover.killed": os.Kill} {
				standby, err := p.startQuiet(ctx, b.manager, leaderElection()...)
				if err != nil {
					return err
				}
				took, err := p.oneFailover(ctx, leader, signal)
				if err != nil {
					return err
				}
				leader = standby
				b.add(figure, took.Seconds())
			}
		}
		return nil
	})
}

// oneFailover sends a signal to the leader, creates an Echo, and returns the time until the Echo's Deployment exists.
func (p *controlPlane) oneFailover(ctx context.Context, leader *program, signal os.Signal) (time.Duration, error) {
	defer p.kill(leader)
	began := time.Now()
	echo := &v1.Echo{Namespace: namespace, GenerateName: "echo-"}
	if err := errors.Join(leader.command.Process.Signal(signal), p.client.Create(ctx, echo)); err != nil {
		return 0, err
	}
	err := poll(ctx, 20*time.Millisecond, startTimeout, func(ctx context.Context) (bool, error) {
		err := p.client.Get(ctx, client.ObjectKeyFromObject(echo), &appsv1.Deployment{})
		return err == nil, client.IgnoreNotFound(err)
	})
	return time.Since(began), err
}
