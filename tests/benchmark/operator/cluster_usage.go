package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/process"
)

// expense is what the operator has used since it started, and the CPU time of all processes of the cluster.
type expense struct {
	requests counts // by method and code
	passes   float64
	cpu      map[string]time.Duration // by program
}

// expense returns what was used so far. The operator may be nil, and has used nothing then.
func (c *cluster) expense(ctx context.Context, operator *program) (expense, error) {
	e, err := expense{cpu: map[string]time.Duration{}}, error(nil)
	pids := map[string]int{"kube-apiserver": c.apiServer, "etcd": c.etcd}
	for _, g := range c.programs {
		pids[filepath.Base(g.command.Path)] = g.pid()
	}
	if operator != nil {
		pids[ours] = operator.pid()
	}
	for name, pid := range pids {
		if e.cpu[name], err = process.CPUTime(pid); err != nil {
			return e, fmt.Errorf("%s: %w", name, err)
		}
	}
	if operator == nil {
		return e, nil
	}
	metrics, err := c.metricsOf(ctx, operator)
	e.requests, e.passes = sentRequests(metrics), passes(metrics)
	return e, err
}

// since returns what was used after an earlier expense.
func (e expense) since(before expense) expense {
	added := expense{e.requests.since(before.requests), e.passes - before.passes, map[string]time.Duration{}}
	for name, d := range e.cpu {
		added.cpu[name] = d - before.cpu[name]
	}
	return added
}

// sentRequests returns the requests of a process by method and code, as it counts them itself. Among them are reviews of who reads its
// metrics, which are POST requests, as those for events.
func sentRequests(metrics families) counts {
	sent := counts{}
	for _, m := range metrics["rest_client_requests_total"].GetMetric() {
		l := labels(m)
		sent[l["method"]+" "+l["code"]] += m.GetCounter().GetValue()
	}
	return sent
}

// measure measures what the operator uses until something has happened, and keeps it for one Echo. What happens may start the operator.
func (r *clusterRun) measure(ctx context.Context, phase string, happen func(context.Context) error) error {
	if err := r.quiet(ctx, r.operator); err != nil {
		return err
	}
	before, err := r.expense(ctx, r.operator)
	if err != nil {
		return err
	}
	if r.operator != nil {
		if err := process.ResetPeak(r.operator.pid()); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := happen(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	if err := r.quiet(ctx, r.operator); err != nil {
		return err
	}
	after, err := r.expense(ctx, r.operator)
	if err != nil {
		return err
	}
	r.keep(phase, after.since(before), took, float64(r.n))
	return r.keepMemory(ctx, phase)
}

// keep keeps what was used, for one Echo.
func (r *clusterRun) keep(phase string, used expense, took time.Duration, echoes float64) {
	f, name := r.b.figures, r.name+"."+phase
	f.add(name+".perSecond", echoes/took.Seconds())
	f.add(name+".requests", used.requests.sum(isAny)/echoes)
	f.add(name+".conflicts", used.requests.sum(isConflict)/echoes)
	f.add(name+".passes", used.passes/echoes)
	for request, count := range used.requests {
		f.add(name+requestKey+request, count/echoes)
	}
	cpu := map[string]string{}
	for program, d := range used.cpu {
		f.add(name+".cpu."+program, milliseconds(d)/echoes)
		cpu[program] = fmt.Sprintf("%.1f", f.last(name+".cpu."+program))
	}
	r.b.say("  %.0f Echoes, %.1f per second; for each: %.2f requests, %.2f passes, CPU in ms: %v", echoes, f.last(name+".perSecond"),
		f.last(name+".requests"), f.last(name+".passes"), cpu)
}

func isAny(string) bool { return true }

// keepMemory keeps the memory of the operator after a while without work, and the most that it had.
func (r *clusterRun) keepMemory(ctx context.Context, phase string) error {
	if err := pause(ctx, settleTime); err != nil {
		return err
	}
	memory, err := process.MemoryOf(r.operator.pid())
	if err != nil {
		return err
	}
	peak, err := process.Peak(r.operator.pid())
	if err != nil {
		return err
	}
	const mega = 1e6
	r.b.figures.add(r.name+"."+phase+".peak", float64(peak)/mega)
	r.b.figures.add(r.name+"."+phase+".resident", float64(memory.Resident)/mega)
	r.b.say("  RSS %.1f MB, at most %.1f MB", float64(memory.Resident)/mega, float64(peak)/mega)
	return nil
}
