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
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// noop measures a reconcile of a converged Echo in a namespace in which other Echoes have a growing number of pods. The operator runs in
// this process.
func (b *benchmark) noop(ctx context.Context) (err error) {
	p, err := testbed.StartControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	o, err := controlplane.NewOperator(p.Env.Config, "baseline")
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
	echo := &v1.Echo{Spec: v1.EchoSpec{Replicas: new(int32(testbed.PodsPerEcho))}}
	echo.Name, echo.Namespace = "echo-00000", testbed.Namespace
	if err := errors.Join(p.Client.Create(ctx, echo), p.AwaitEvents(ctx, b.events, testbed.StartTimeout)); err != nil {
		return err
	}
	there := 0
	for _, pods := range []int{0, 1000, 4000} {
		b.say("reconciles with %d pods in the namespace", pods)
		if err := createForeignPods(ctx, p, echo, there, pods); err != nil {
			return err
		}
		there = pods
		if err := errors.Join(awaitCached(ctx, o, pods), p.Quiet(ctx, nil)); err != nil {
			return err
		}
		if err := b.noopReconcile(ctx, p, o, echo, pods); err != nil {
			return err
		}
	}
	return nil
}

// createForeignPods creates pods of other Echoes. The operator watches these pods.
func createForeignPods(ctx context.Context, p *testbed.ControlPlane, echo *v1.Echo, first, end int) error {
	deployment := &appsv1.Deployment{}
	if err := p.Client.Get(ctx, client.ObjectKeyFromObject(echo), deployment); err != nil {
		return err
	}
	return testbed.Parallel(ctx, end-first, func(ctx context.Context, i int) error {
		other := &v1.Echo{}
		other.Name = fmt.Sprintf("other-%05d", (first+i)/testbed.PodsPerEcho)
		pod := testbed.PodOf(deployment, first+i)
		maps.Copy(pod.Labels, objects.SelectorLabels(other))
		return testbed.CreatePod(ctx, p.Client, pod)
	})
}

// awaitCached waits until the operator's cache contains all pods.
func awaitCached(ctx context.Context, o *operator.Operator, pods int) error {
	return testbed.Poll(ctx, testbed.StartTimeout, func(ctx context.Context) (bool, error) {
		list := &corev1.PodList{}
		err := o.GetCache().List(ctx, list, client.InNamespace(testbed.Namespace))
		return len(list.Items) == pods, err
	})
}

func (b *benchmark) noopReconcile(ctx context.Context, p *testbed.ControlPlane, o *operator.Operator, echo *v1.Echo, pods int) error {
	before, err := p.Before(ctx, nil)
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
	used, err := p.After(ctx, nil, before)
	name := fmt.Sprintf("noop.%d", pods)
	b.figures.Add(name+".time", float64(result.NsPerOp())/1000)
	b.figures.Add(name+".cpu", milliseconds(ended-began)*1000/float64(result.N)) // including garbage collection
	b.figures.Add(name+".bytes", float64(result.AllocedBytesPerOp()))
	b.figures.Add(name+".allocations", float64(result.AllocsPerOp()))
	b.figures.Add(name+".requests", used.Requests.Sum(requests.IsWork))
	b.say("  %s %s, requests: %v", result, result.MemString(), used.Requests)
	return err
}
