package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// rolledImage is the image to which all Echoes are updated.
const rolledImage = "quay.io/echo-operator/echo-server:v0.1.1"

// clusterRun measures the operator with a number of Echoes on a separate cluster.
type clusterRun struct {
	*testbed.Cluster
	b        *benchmark
	name     string // prefix of figure names
	n        int    // number of Echoes
	operator *testbed.Program
	echoes   *testbed.EchoCount
}

// cluster measures the operator together with the Kubernetes controllers and pods. It does so first with a tenth of the Echoes, and then
// with all Echoes, so that you can compare the costs per Echo.
func (b *benchmark) cluster(ctx context.Context) error {
	for _, size := range []struct {
		name string
		n    int
	}{{"few", b.inCluster / 10}, {"many", b.inCluster}} {
		if size.n == 0 || !b.selects(size.name) {
			continue
		}
		if err := b.oneCluster(ctx, "cluster."+size.name, size.n); err != nil {
			return fmt.Errorf("%d Echoes: %w", size.n, err)
		}
	}
	return nil
}

func (b *benchmark) oneCluster(ctx context.Context, name string, n int) (err error) {
	b.say("starting a cluster with %d nodes", testbed.NodesFor(b.pods*n))
	c, err := testbed.StartCluster(ctx, b.kubernetes, b.pods*n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	r := &clusterRun{Cluster: c, b: b, name: name, n: n}
	if r.echoes, err = c.CountEchoes(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.echoes.Stop(), r.kill()) }()
	for _, phase := range []struct {
		name string
		run  func(context.Context) error
	}{{"converge", r.converge}, {"restart", r.restart}, {"roll", r.roll}, {"delete", r.delete}} {
		b.say("%s: %d Echoes with %d pods", phase.name, n, b.pods*n)
		err := phase.run(ctx)
		if ctx.Err() != nil { // interrupted
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", phase.name, r.failure(err))
		}
	}
	return nil
}

// converge creates Echoes while the operator is idle.
func (r *clusterRun) converge(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	return r.measure(ctx, "converge", func(ctx context.Context) error {
		if err := r.createEchoes(ctx); err != nil {
			return err
		}
		return r.awaitReady(ctx, testbed.EchoServerImage)
	})
}

func (r *clusterRun) createEchoes(ctx context.Context) error {
	return testbed.Parallel(ctx, r.n, func(ctx context.Context, i int) error {
		echo := &v1.Echo{Spec: v1.EchoSpec{Replicas: new(int32(r.b.pods))}}
		echo.Name, echo.Namespace = fmt.Sprintf("echo-%05d", i), testbed.StormNamespace(i)
		return r.Client.Create(ctx, echo)
	})
}

// restart starts the operator when all objects are in the desired state. It measures memory during another start, because continuously
// reading the metrics uses memory.
func (r *clusterRun) restart(ctx context.Context) error {
	if err := errors.Join(r.kill(), r.start(ctx)); err != nil {
		return err
	}
	if err := r.AwaitReconciles(ctx, r.operator, 1); err != nil {
		return err
	}
	first := time.Since(r.operator.Began)
	if err := r.AwaitReconciles(ctx, r.operator, r.n); err != nil {
		return err
	}
	all := time.Since(r.operator.Began)
	if err := r.Quiet(ctx, r.operator); err != nil {
		return err
	}
	used, err := r.Expense(ctx, r.operator)
	if err != nil {
		return err
	}
	f, name := r.b.figures, r.name+".restart"
	f.Add(name+".firstReconcile", first.Seconds())
	f.Add(name+".allReconciles", all.Seconds())
	f.Add(name+".requests", used.Requests.Sum(requests.IsNoReview))
	f.Add(name+".writes", used.Requests.Sum(requests.IsWrite))
	f.Add(name+".cpu.operator", used.CPU[ours].Seconds())
	r.b.say("  first reconcile after %.2f s, all after %.2f s, requests: %v", first.Seconds(), all.Seconds(), used.Requests)
	return errors.Join(r.kill(), r.b.oneRest(ctx, r.ControlPlane, name))
}

// roll starts the operator with a new image for all Echoes.
func (r *clusterRun) roll(ctx context.Context) error {
	return r.measure(ctx, "roll", func(ctx context.Context) error {
		if err := r.start(ctx, "--echo-server-image="+rolledImage); err != nil {
			return err
		}
		return r.awaitReady(ctx, rolledImage)
	})
}

func (r *clusterRun) delete(ctx context.Context) error {
	return r.measure(ctx, "delete", func(ctx context.Context) error {
		for _, namespace := range testbed.Namespaces() {
			if err := r.deleteEchoes(ctx, namespace); err != nil {
				return err
			}
		}
		return r.awaitGone(ctx)
	})
}

// deleteEchoes deletes the Echoes in a namespace. The API server deletes Echoes one by one, and the request times out after a minute.
func (r *clusterRun) deleteEchoes(ctx context.Context, namespace string) error {
	const requestTimeout = time.Minute
	return testbed.Poll(ctx, r.timeout(), func(ctx context.Context) (bool, error) {
		began := time.Now()
		err := r.Client.DeleteAllOf(ctx, &v1.Echo{}, client.InNamespace(namespace))
		if err != nil && time.Since(began) < requestTimeout {
			return false, err
		}
		return err == nil, nil
	})
}

func (r *clusterRun) start(ctx context.Context, arguments ...string) (err error) {
	r.operator, err = testbed.StartOperator(ctx, r.ControlPlane, r.b.manager, r.Kubeconfig(controlplane.OperatorUser), arguments...)
	if err != nil {
		return err
	}
	return r.AwaitMetrics(ctx, r.operator)
}

// kill kills the operator if it is running.
func (r *clusterRun) kill() error {
	ended := r.operator
	r.operator = nil
	if ended == nil {
		return nil
	}
	return ended.Kill()
}

// failure adds the end of each log to an error.
func (r *clusterRun) failure(err error) error {
	if r.operator != nil {
		err = r.operator.Failure(err)
	}
	return r.Failure(err)
}

// timeout returns the maximum duration of an operation on all Echoes.
func (r *clusterRun) timeout() time.Duration {
	return 5*time.Minute + time.Duration(r.n)*time.Second
}
