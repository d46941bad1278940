package monitoring

import (
	"errors"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
func New(now func() time.Time) *Metrics {
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
