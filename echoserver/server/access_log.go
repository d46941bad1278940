package server

import (
	"log/slog"
	"net/http"
	"time"
)

// maxLogged is the maximum length of a string from a request in a log line, in bytes.
const maxLogged = 1 << 10

// logAccess writes one log line for a request. It contains neither the query nor any header but Host, because they can contain secrets.
func logAccess(log *slog.Logger, e *exchange, r *http.Request) {
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0) // slog.Logger would look up the caller, which is slower
	line.AddAttrs(
		slog.String("id", e.id),
		slog.String("method", cut(r.Method)),
		slog.String("host", cut(r.Host)),
		slog.String("path", cut(r.URL.Path)),
		slog.String("proto", r.Proto),
		slog.Int("status", e.statusOrOK()),
		slog.Int64("bytes", e.written),
		slog.String("remote", r.RemoteAddr),
		slog.Duration("nanoseconds", line.Time.Sub(e.began)))
	if e.grpcStatus != "" {
		line.AddAttrs(slog.String("grpcStatus", e.grpcStatus))
	}
	_ = log.Handler().Handle(r.Context(), line) // there is nowhere to report the error
}

func cut(text string) string {
	return text[:min(len(text), maxLogged)]
}
