package main

import (
	"maps"
	"strings"
	"testing"
	"time"
)

func TestPercentiles(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, c := range []struct {
		values []float64
		want   percentiles
	}{
		{[]float64{3}, percentiles{3, 3}},
		{[]float64{5, 1, 3}, percentiles{3, 5}},
		{hundred, percentiles{50, 99}},
		{append([]float64{101}, hundred...), percentiles{51, 100}},
	} {
		if got := percentilesOf(c.values); got != c.want {
			t.Errorf("the percentiles of %v are %v, not %v", c.values, got, c.want)
		}
	}
}

// example is a timeline in which the operator takes 10 ms to add the finalizer, 20 ms to create the Deployment, and 70 ms to update the
// status.
func example() line {
	const ms = time.Millisecond
	return line{
		applied: 5 * ms, finalizer: 15 * ms, "Service": 25 * ms, created: 35 * ms, "PodDisruptionBudget": 45 * ms, "first status": 55 * ms,
		replicas: 50 * ms, pod: 60 * ms, scheduled: 70 * ms, running: 500 * ms, podReady: 900 * ms, available: 930 * ms, ready: 1000 * ms,
	}
}

func TestShare(t *testing.T) {
	if got := example().share(); got != 100*time.Millisecond {
		t.Errorf("the operator's share is %s, not 100 ms", got)
	}
}

func TestTable(t *testing.T) {
	slower := maps.Clone(example())
	slower[ready] = 1100 * time.Millisecond
	table := newReport([]line{example(), slower, example()}).table()
	for _, want := range []string{
		"| applied | API server | 5.0 | 5.0 | apply | 5.0 | 5.0 |\n",
		"| Deployment | operator | 35.0 | 35.0 | finalizer | 20.0 | 20.0 |\n",
		"| container running | kubelet | 500.0 | 500.0 | pod scheduled | 430.0 | 430.0 |\n",
		"| Echo Ready | operator | 1000.0 | 1100.0 | Deployment available | 70.0 | 170.0 |\n",
		"of 3 Echoes", "for 100.0 ms (p50; p99 200.0)", "is 10.0 % of the time (p50; p99 18.2)",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not contain %q:\n%s", want, table)
		}
	}
}
