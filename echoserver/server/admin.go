package server

import "net/http"

// newAdmin returns the handler of the admin port, which serves metrics and probes. Its requests are counted but not logged.
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
			metrics.expose(e)
		default:
			refuse(e, http.StatusNotFound, "not found: the paths are /metrics, /livez and /readyz")
		}
	})
}
