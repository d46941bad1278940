package exchange

import (
	"log/slog"
	"net/http"
	"time"
)

// MaxLogged is the maximum length, in bytes, of each string that a log line takes from a request.
const MaxLogged = 1 << 10

// LogAccess writes a log line for a request. The line contains neither the query nor any header except Host, because queries and other
// headers can contain secrets.
func LogAccess(log *slog.Logger, e *Exchange, r *http.Request) {
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0) // slog.Logger would be slower, because it looks up the caller
	line.AddAttrs(
		slog.String("id", e.ID),
		slog.String("method", printable(r.Method)),
		slog.String("host", printable(r.Host)),
		slog.String("path", printable(rawPath(r))),
		slog.String("proto", r.Proto),
		slog.Int("status", e.StatusOrOK()),
		slog.Int64("bytes", e.written),
		slog.String("remote", r.RemoteAddr),
		slog.Duration("nanoseconds", line.Time.Sub(e.Began)))
	if e.GRPCStatus != "" {
		line.AddAttrs(slog.String("grpcStatus", e.GRPCStatus))
	}
	_ = log.Handler().Handle(r.Context(), line) // there is nowhere to report the error
}

// Truncate shortens a string from a request to at most MaxLogged bytes, for logs and errors.
func Truncate(text string) string {
	return text[:min(len(text), MaxLogged)]
}
