package monitoring

import "github.com/prometheus/client_golang/prometheus"

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
