package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// noop measures a pass over a converged Echo, with more and more pods of others in its namespace. The operator runs in this process.
func (b *benchmark) noop(ctx context.Context) (err error) {
	p, err := startControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	o, err := controlplane.NewOperator(p.env.Config, "baseline")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- o.Start(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-stopped)
	}()
	echo := &v1.Echo{Spec: v1.EchoSpec{Replicas: podsPerEcho}}
	echo.Name, echo.Namespace = "echo-00000", namespace
	if err := errors.Join(p.client.Create(ctx, echo), p.awaitEvents(ctx, b.events, startTimeout)); err != nil {
		return err
	}
	there := 0
	for _, pods := range []int{0, 1000, 4000} {
		b.say("passes with %d pods in the namespace", pods)
		if err := p.createForeignPods(ctx, echo, there, pods); err != nil {
			return err
		}
		there = pods
		if err := errors.Join(awaitCached(ctx, o, pods), p.quiet(ctx, nil)); err != nil {
			return err
		}
		if err := b.noopPass(ctx, p, o, echo, pods); err != nil {
			return err
		}
	}
	return nil
}

// createForeignPods creates pods that the operator watches and that belong to other Echoes.
func (p *controlPlane) createForeignPods(ctx context.Context, echo *v1.Echo, first, end int) error {
	deployment := &appsv1.Deployment{}
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(echo), deployment); err != nil {
		return err
	}
	return parallel(ctx, end-first, func(ctx context.Context, i int) error {
		other := &v1.Echo{}
		other.Name = fmt.Sprintf("other-%05d", (first+i)/podsPerEcho)
		pod := podOf(deployment, first+i)
		maps.Copy(pod.Labels, children.SelectorLabels(other))
		return createPod(ctx, p.client, pod)
	})
}

// awaitCached waits until the operator knows all pods.
func awaitCached(ctx context.Context, o *operator.Operator, pods int) error {
	return poll(ctx, startTimeout, func(ctx context.Context) (bool, error) {
		list := &corev1.PodList{}
		err := o.GetCache().List(ctx, list, client.InNamespace(namespace))
		return len(list.Items) == pods, err
	})
}

func (b *benchmark) noopPass(ctx context.Context, p *controlPlane, o *operator.Operator, echo *v1.Echo, pods int) error {
	before, err := p.before(ctx, nil)
	if err != nil {
		return err
	}
	began, err := process.CPUTime(os.Getpid())
	if err != nil {
		return err
	}
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(echo)}
	result := testing.Benchmark(func(t *testing.B) {
		t.ReportAllocs()
		for t.Loop() {
			if _, problem := o.Echoes.Reconcile(ctx, request); problem != nil {
				err = problem
			}
		}
	})
	if err != nil {
		return err
	}
	ended, err := process.CPUTime(os.Getpid())
	if err != nil {
		return err
	}
	used, err := p.after(ctx, nil, before)
	name := fmt.Sprintf("noop.%d", pods)
	b.figures.add(name+".time", float64(result.NsPerOp())/1000)
	b.figures.add(name+".cpu", milliseconds(ended-began)*1000/float64(result.N)) // with garbage collection
	b.figures.add(name+".bytes", float64(result.AllocedBytesPerOp()))
	b.figures.add(name+".allocations", float64(result.AllocsPerOp()))
	b.figures.add(name+".requests", used.requests.sum(isWork))
	b.say("  %s %s, requests: %v", result, result.MemString(), used.requests)
	return err
}
