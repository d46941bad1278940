package main

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// tlsMetrics contains the metrics of the certificate. They are omitted if there is none.
type tlsMetrics struct {
	reloadFailures atomic.Int64
	expiry         atomic.Int64 // Unix time
}

// Describe implements prometheus.Collector.
func (m *tlsMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- tlsExpiry()
	descriptions <- tlsReloadFailures()
}

// Collect implements prometheus.Collector.
func (m *tlsMetrics) Collect(collected chan<- prometheus.Metric) {
	expiry := m.expiry.Load()
	if expiry == 0 {
		return
	}
	collected <- prometheus.MustNewConstMetric(tlsExpiry(), prometheus.GaugeValue, float64(expiry))
	collected <- prometheus.MustNewConstMetric(tlsReloadFailures(), prometheus.CounterValue, float64(m.reloadFailures.Load()))
}

func tlsExpiry() *prometheus.Desc {
	return prometheus.NewDesc("echo_tls_certificate_expiry_seconds", "When the certificate that is served expires, as Unix time.", nil, nil)
}

func tlsReloadFailures() *prometheus.Desc {
	return prometheus.NewDesc("echo_tls_reload_failures_total", "Rotations of the certificate that failed; the last one stays.", nil, nil)
}
