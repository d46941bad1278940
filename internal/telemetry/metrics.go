// Package telemetry defines the operator's metrics, alerts, and traces.
//
// Each metric answers a question that an on-call engineer asks. The table in docs/reference/metrics.md lists the metrics.
package telemetry

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// prefix is the start of the names of the operator's own metrics.
const prefix = "echo_operator_"

// Metrics are the operator's own metrics. The operator's libraries add metrics about reconciles, queues, requests, and the process.
type Metrics struct {
	Echoes     *Echoes
	Companions *Companions
	Checks     *Checks
	Failures   *Failures

	requests *prometheus.CounterVec
}

// NewMetrics returns metrics that read the time from a clock.
func NewMetrics(now func() time.Time) *Metrics {
	return &Metrics{
		Echoes: newEchoes(now),
		Companions: &Companions{
			count:   describe("companions", "Number of companions of all Echoes."),
			missing: describe("companions_missing", "Number of pods that request a companion and have none, by reason.", "reason"),
			counts:  map[types.NamespacedName]int{}, reasons: map[types.NamespacedName]string{},
		},
		Checks: &Checks{
			now:   now,
			count: describe("checks", "Number of checks of Echoes by result.", "result"),
			failed: describe("check_failed", "1 for each check whose last run failed; includes at most 20 checks.",
				"echo_namespace", "echo", "check"),
			unknown: describe("check_unknown",
				"1 for each check whose last three scheduled runs had no conclusion, or that cannot run; includes at most 20 checks.",
				"echo_namespace", "echo", "check"),
			results: map[types.NamespacedName][]v1.EchoCheckStatus{}, overdue: map[types.NamespacedName]map[string]time.Time{},
		},
		Failures: &Failures{prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "reconcile_errors_total",
			Help: "Number of reconciles that failed, by controller, kind, and reason. The kind is user if a user must act, and " +
				"transient if the next attempt may succeed.",
		}, []string{"controller", "kind", "reason"})},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "api_requests_total",
			Help: "Number of requests to the API server by verb, resource, and HTTP status code; the code is \"error\" if there was no response.",
		}, []string{"verb", "resource", "code"}),
	}
}

// describe returns the description of a metric that is computed on each scrape.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

// Register adds the metrics to a registry, which must not contain metrics from another operator. The elected channel is closed when this
// process becomes the leader.
func (m *Metrics) Register(registry prometheus.Registerer, version string, elected <-chan struct{}) error {
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        prefix + "build_info",
		Help:        "The versions of the operator and of Go; the value is always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
	var problems []error
	for _, c := range []prometheus.Collector{
		m.Echoes, m.Companions, m.Checks, m.Failures.counter, m.requests, build, leader(elected),
	} {
		problems = append(problems, registry.Register(c))
	}
	return errors.Join(problems...)
}

func leader(elected <-chan struct{}) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "leader",
		Help: "1 if this replica of the operator is the leader, which exposes all metrics of Echoes; 0 otherwise.",
	}, func() float64 {
		select {
		case <-elected:
			return 1
		default:
			return 0
		}
	})
}

// Failures counts failed reconciles.
type Failures struct{ counter *prometheus.CounterVec }

// Add counts a failed reconcile. The reason is a condition's reason, or empty if the status does not report the failure.
func (f *Failures) Add(controller string, transient bool, reason string) {
	kind := "user"
	if transient {
		kind = "transient"
	}
	f.counter.WithLabelValues(controller, kind, reason).Inc()
}

// Companions counts the companions, and the pods that request a companion but do not have one. It is safe for concurrent use.
type Companions struct {
	count, missing *prometheus.Desc

	lock    sync.Mutex
	counts  map[types.NamespacedName]int
	reasons map[types.NamespacedName]string
}

// Reported records how many companions a pod has, and why it has none. The reason is empty if nothing is wrong.
func (c *Companions) Reported(pod types.NamespacedName, count int, reason string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.counts[pod], c.reasons[pod] = count, reason
	if count == 0 {
		delete(c.counts, pod)
	}
	if reason == "" {
		delete(c.reasons, pod)
	}
}

// Describe implements prometheus.Collector.
func (c *Companions) Describe(to chan<- *prometheus.Desc) {
	to <- c.count
	to <- c.missing
}

// Collect implements prometheus.Collector.
func (c *Companions) Collect(to chan<- prometheus.Metric) {
	c.lock.Lock()
	defer c.lock.Unlock()
	all := 0
	for _, count := range c.counts {
		all += count
	}
	to <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, float64(all))
	byReason := map[string]float64{"EchoNotFound": 0, "CompanionNotCreated": 0}
	for _, reason := range c.reasons {
		byReason[reason]++
	}
	for reason, count := range byReason {
		to <- prometheus.MustNewConstMetric(c.missing, prometheus.GaugeValue, count, reason)
	}
}

// Checks exposes the results of the Echoes' checks. It is safe for concurrent use.
type Checks struct {
	now                    func() time.Time
	count, failed, unknown *prometheus.Desc

	lock    sync.Mutex
	results map[types.NamespacedName][]v1.EchoCheckStatus
	overdue map[types.NamespacedName]map[string]time.Time
}

// Reported records the results of an Echo's checks, and when they will have had no conclusion for too long. The list is empty if the Echo
// has no checks or no longer exists.
func (c *Checks) Reported(echo types.NamespacedName, checks []v1.EchoCheckStatus, overdue map[string]time.Time) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.results[echo], c.overdue[echo] = checks, overdue
	if len(checks) == 0 {
		delete(c.results, echo)
		delete(c.overdue, echo)
	}
}

// Describe implements prometheus.Collector.
func (c *Checks) Describe(to chan<- *prometheus.Desc) {
	to <- c.count
	to <- c.failed
	to <- c.unknown
}

// Collect implements prometheus.Collector.
func (c *Checks) Collect(to chan<- prometheus.Metric) {
	counts := map[v1.CheckResult]float64{v1.CheckPassed: 0, v1.CheckFailed: 0, v1.CheckUnknown: 0}
	named := map[*prometheus.Desc][][]string{} // the labels of the named checks
	c.lock.Lock()
	now := c.now()
	for echo, checks := range c.results {
		for _, check := range checks {
			counts[check.Result]++
			if check.Result == v1.CheckFailed {
				named[c.failed] = append(named[c.failed], []string{echo.Namespace, echo.Name, check.Name})
			}
			if due := c.overdue[echo][check.Name]; !due.IsZero() && !due.After(now) {
				named[c.unknown] = append(named[c.unknown], []string{echo.Namespace, echo.Name, check.Name})
			}
		}
	}
	c.lock.Unlock()
	for result, count := range counts {
		to <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, count, string(result))
	}
	for metric, checks := range named {
		slices.SortFunc(checks, slices.Compare)
		for _, labels := range checks[:min(len(checks), maxNamed)] {
			to <- prometheus.MustNewConstMetric(metric, prometheus.GaugeValue, 1, labels...)
		}
	}
}
