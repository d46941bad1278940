package server

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// tlsMetrics contains the metrics of the certificate.
type tlsMetrics struct {
	reloadFailures atomic.Int64
	expiry         atomic.Int64 // Unix time
}

// exposeTLS adds the metrics of the certificate. They are omitted if there is none.
func (m *metrics) exposeTLS() {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "echo_tls_certificate_expiry_seconds",
			Help: "When the certificate that is served expires, as Unix time."}, func() float64 { return float64(m.tls.expiry.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "echo_tls_reload_failures_total",
			Help: "Rotations of the certificate that failed; the last one stays."}, func() float64 { return float64(m.tls.reloadFailures.Load()) }))
}
