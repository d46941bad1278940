package main

import (
	"context"
	"fmt"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/figures"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
)

// measure measures the resources that the operator uses while a function runs, and records them per Echo. The function may start the
// operator.
func (r *clusterRun) measure(ctx context.Context, phase string, happen func(context.Context) error) error {
	if err := r.Quiet(ctx, r.operator); err != nil {
		return err
	}
	before, err := r.Expense(ctx, r.operator)
	if err != nil {
		return err
	}
	if r.operator != nil {
		if err := process.ResetPeak(r.operator.PID()); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := happen(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	if err := r.Quiet(ctx, r.operator); err != nil {
		return err
	}
	after, err := r.Expense(ctx, r.operator)
	if err != nil {
		return err
	}
	r.keep(phase, after.Since(before), took, float64(r.n))
	return r.keepMemory(ctx, phase)
}

// keep records the resources that were used per Echo.
func (r *clusterRun) keep(phase string, used testbed.Expense, took time.Duration, echoes float64) {
	f, name := r.b.figures, r.name+"."+phase
	f.Add(name+".perSecond", echoes/took.Seconds())
	f.Add(name+".requests", used.Requests.Sum(requests.IsAny)/echoes)
	f.Add(name+".conflicts", used.Requests.Sum(requests.IsConflict)/echoes)
	f.Add(name+".reconciles", used.Reconciles/echoes)
	for request, count := range used.Requests {
		f.Add(name+figures.RequestKey+request, count/echoes)
	}
	cpu := map[string]string{}
	for program, d := range used.CPU {
		f.Add(name+".cpu."+program, milliseconds(d)/echoes)
		cpu[program] = fmt.Sprintf("%.1f", f.Last(name+".cpu."+program))
	}
	r.b.say("  %.0f Echoes, %.1f per second; for each: %.2f requests, %.2f reconciles, CPU in ms: %v", echoes, f.Last(name+".perSecond"),
		f.Last(name+".requests"), f.Last(name+".reconciles"), cpu)
}

// keepMemory records the operator's memory after an idle period, and its peak memory.
func (r *clusterRun) keepMemory(ctx context.Context, phase string) error {
	if err := testbed.Pause(ctx, settleTime); err != nil {
		return err
	}
	memory, err := process.MemoryOf(r.operator.PID())
	if err != nil {
		return err
	}
	peak, err := process.Peak(r.operator.PID())
	if err != nil {
		return err
	}
	const mega = 1e6
	r.b.figures.Add(r.name+"."+phase+".peak", float64(peak)/mega)
	r.b.figures.Add(r.name+"."+phase+".resident", float64(memory.Resident)/mega)
	r.b.say("  RSS %.1f MB, at most %.1f MB", float64(memory.Resident)/mega, float64(peak)/mega)
	return nil
}
