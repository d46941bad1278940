package telemetry

import (
	"cmp"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Checks exposes the results of the Echoes' checks. It is safe for concurrent use.
type Checks struct {
	count, failed *prometheus.Desc

	lock    sync.Mutex
	results map[types.NamespacedName][]v1.EchoCheckStatus
}

func newChecks() *Checks {
	return &Checks{
		count: prometheus.NewDesc(prefix+"checks", "Number of checks of Echoes by result.", []string{"result"}, nil),
		failed: prometheus.NewDesc(prefix+"check_failed", "1 for each check whose last run failed; includes at most 20 checks.",
			[]string{"echo_namespace", "echo", "check"}, nil),
		results: map[types.NamespacedName][]v1.EchoCheckStatus{},
	}
}

// Reported records the results of an Echo's checks. The list is empty if the Echo has no checks or no longer exists.
func (c *Checks) Reported(echo types.NamespacedName, checks []v1.EchoCheckStatus) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if len(checks) == 0 {
		delete(c.results, echo)
		return
	}
	c.results[echo] = checks
}

// Describe implements prometheus.Collector.
func (c *Checks) Describe(to chan<- *prometheus.Desc) {
	to <- c.count
	to <- c.failed
}

// Collect implements prometheus.Collector.
func (c *Checks) Collect(to chan<- prometheus.Metric) {
	counts, failed := c.sumUp()
	for result, count := range counts {
		to <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, count, string(result))
	}
	for _, each := range failed[:min(len(failed), maxNamed)] {
		to <- prometheus.MustNewConstMetric(c.failed, prometheus.GaugeValue, 1, each.echo.Namespace, each.echo.Name, each.check)
	}
}

type failedCheck struct {
	echo  types.NamespacedName
	check string
}

// sumUp counts the checks by result, and returns the failed checks in a fixed order.
func (c *Checks) sumUp() (map[v1.CheckResult]float64, []failedCheck) {
	c.lock.Lock()
	defer c.lock.Unlock()
	counts := map[v1.CheckResult]float64{v1.CheckPassed: 0, v1.CheckFailed: 0, v1.CheckUnknown: 0}
	var failed []failedCheck
	for echo, checks := range c.results {
		for _, check := range checks {
			counts[check.Result]++
			if check.Result == v1.CheckFailed {
				failed = append(failed, failedCheck{echo, check.Name})
			}
		}
	}
	slices.SortFunc(failed, func(a, b failedCheck) int {
		return cmp.Or(cmp.Compare(a.echo.Namespace, b.echo.Namespace), cmp.Compare(a.echo.Name, b.echo.Name), cmp.Compare(a.check, b.check))
	})
	return counts, failed
}
