package server

import (
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// newAdmin returns the handler of the admin port, which serves metrics and probes. Requests to this port are counted but not logged.
func newAdmin(life *lifecycle, metrics *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := exchange.New(w, r)
		metrics.began()
		defer func() { metrics.ended("admin", r, e.StatusOrOK(), time.Since(e.Began)) }()
		exchange.SetSecurityHeaders(e.Header())
		switch r.URL.Path {
		case "/livez":
			health(e, true)
		case "/readyz":
			health(e, !life.draining.Load())
		case "/metrics":
			metrics.expose(e)
		default:
			exchange.Reject(e, http.StatusNotFound, "not found: the paths are /metrics, /livez, and /readyz")
		}
	})
}
