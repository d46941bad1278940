package main

import (
	"bytes"
	"fmt"
	"sync/atomic"
)

// tlsMetrics contains the metrics of the certificate. They are omitted if there is none.
type tlsMetrics struct {
	reloadFailures atomic.Int64
	expiry         atomic.Int64 // Unix time
}

func (m *tlsMetrics) text(b *bytes.Buffer) {
	expiry := m.expiry.Load()
	if expiry == 0 {
		return
	}
	fmt.Fprintf(b, "# HELP echo_tls_certificate_expiry_seconds When the certificate that is served expires, as Unix time.\n"+
		"# TYPE echo_tls_certificate_expiry_seconds gauge\necho_tls_certificate_expiry_seconds %d\n", expiry)
	fmt.Fprintf(b, "# HELP echo_tls_reload_failures_total Rotations of the certificate that failed; the last one stays.\n"+
		"# TYPE echo_tls_reload_failures_total counter\necho_tls_reload_failures_total %d\n", m.reloadFailures.Load())
}
