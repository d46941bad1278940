package testbed

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
)

// OperatorName is the operator's key in Expense.CPU.
const OperatorName = "operator"

// Expense contains the resources that the operator has used since it started, and the CPU time of all processes in the cluster.
type Expense struct {
	Requests   requests.Counts // by method and code
	Reconciles float64
	CPU        map[string]time.Duration // by program
}

// Expense returns the resources that have been used so far. If operator is nil, the result contains no requests or reconciles.
func (c *Cluster) Expense(ctx context.Context, operator *Program) (Expense, error) {
	e, err := Expense{CPU: map[string]time.Duration{}}, error(nil)
	pids := map[string]int{"kube-apiserver": c.apiServer, "etcd": c.etcd}
	for _, g := range c.programs {
		pids[filepath.Base(g.Command.Path)] = g.PID()
	}
	if operator != nil {
		pids[OperatorName] = operator.PID()
	}
	for name, pid := range pids {
		if e.CPU[name], err = process.CPUTime(pid); err != nil {
			return e, fmt.Errorf("%s: %w", name, err)
		}
	}
	if operator == nil {
		return e, nil
	}
	metrics, err := c.MetricsOf(ctx, operator)
	e.Requests, e.Reconciles = requests.Sent(metrics), requests.Reconciles(metrics)
	return e, err
}

// Since returns the resources that were used after an earlier measurement.
func (e Expense) Since(before Expense) Expense {
	added := Expense{e.Requests.Since(before.Requests), e.Reconciles - before.Reconciles, map[string]time.Duration{}}
	for name, d := range e.CPU {
		added.CPU[name] = d - before.CPU[name]
	}
	return added
}
