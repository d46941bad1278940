package main

import "net/http"

// newAdmin serves what the cluster asks and strangers need not see. Its requests are counted but not logged.
func newAdmin(life *lifecycle, metrics *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := newExchange(w, r)
		metrics.began()
		defer metrics.ended("admin", e, r)
		harden(e.Header())
		switch r.URL.Path {
		case "/livez":
			health(e, true)
		case "/readyz":
			health(e, !life.draining.Load())
		case "/metrics":
			e.Header().Set("Content-Type", metricsType)
			_, _ = e.Write(metrics.text(life.draining.Load())) // the client may be gone
		default:
			refuse(e, http.StatusNotFound, "there are only /metrics, /livez and /readyz")
		}
	})
}
