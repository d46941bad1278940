package telemetry

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// prefix is the start of the names of the operator's own metrics.
const prefix = "echo_operator_"

// Metrics are the operator's own metrics. The operator's libraries add metrics about reconciles, queues, requests, and the process.
type Metrics struct {
	Echoes     *Echoes
	Companions *Companions
	Checks     *Checks
	// Failures counts failed reconciles.
	Failures *Failures
	// Requests counts requests to the API server.
	Requests *Requests
}

// New returns metrics that read the time from a clock.
func NewMetrics(now func() time.Time) *Metrics {
	return &Metrics{
		Echoes: newEchoes(now), Companions: newCompanions(), Checks: newChecks(), Failures: newFailures(), Requests: newRequests(),
	}
}

// Register adds the metrics to a registry, which must not contain metrics from another operator. The elected channel is closed when this
// process becomes the leader.
func (m *Metrics) Register(registry prometheus.Registerer, version string, elected <-chan struct{}) error {
	var problems []error
	for _, c := range []prometheus.Collector{
		m.Echoes, m.Companions, m.Checks, m.Failures.counter, m.Requests.counter, build(version), leader(elected),
	} {
		problems = append(problems, registry.Register(c))
	}
	return errors.Join(problems...)
}

func build(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        prefix + "build_info",
		Help:        "The versions of the operator and of Go; the value is always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
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

func newFailures() *Failures {
	return &Failures{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "reconcile_errors_total",
		Help: "Number of reconciles that failed, by controller, kind, and reason. The kind is user if a user must act, and " +
			"transient if the next attempt may succeed.",
	}, []string{"controller", "kind", "reason"})}
}

// Add counts a failed reconcile. The reason is a condition's reason, or empty if the status does not report the failure.
func (f *Failures) Add(controller string, transient bool, reason string) {
	kind := "user"
	if transient {
		kind = "transient"
	}
	f.counter.WithLabelValues(controller, kind, reason).Inc()
}

// Companions counts the pods that request a companion but do not have one. It is safe for concurrent use.
type Companions struct {
	described *prometheus.Desc

	lock    sync.Mutex
	reasons map[types.NamespacedName]string
}

func newCompanions() *Companions {
	return &Companions{
		described: prometheus.NewDesc(prefix+"companions_missing", "Number of pods that request a companion and have none, by reason.",
			[]string{"reason"}, nil),
		reasons: map[types.NamespacedName]string{},
	}
}

// Reported records why a pod has no companion. The reason is empty if nothing is wrong.
func (c *Companions) Reported(pod types.NamespacedName, reason string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if reason == "" {
		delete(c.reasons, pod)
		return
	}
	c.reasons[pod] = reason
}

// Describe implements prometheus.Collector.
func (c *Companions) Describe(to chan<- *prometheus.Desc) { to <- c.described }

// Collect implements prometheus.Collector.
func (c *Companions) Collect(to chan<- prometheus.Metric) {
	c.lock.Lock()
	defer c.lock.Unlock()
	counts := map[string]float64{"EchoNotFound": 0, "CompanionNotCreated": 0}
	for _, reason := range c.reasons {
		counts[reason]++
	}
	for reason, count := range counts {
		to <- prometheus.MustNewConstMetric(c.described, prometheus.GaugeValue, count, reason)
	}
}
