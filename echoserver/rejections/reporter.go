package rejections

import (
	"log"
	"log/slog"
	"strings"
	"time"
)

// maxDetail limits the length, in bytes, of a detail in the log, because a TLS error can contain data from a client.
const maxDetail = 256

// Rejection describes a rejected connection or request.
type Rejection struct {
	Remote   string // the client's address
	Protocol string
	Status   int // the status code of the response, or 0 if there is none
	Reason   string
	Detail   string // must not contain data that may be secret
}

// Reporter counts all rejections, and limits how many it logs per second.
type Reporter struct {
	log    *slog.Logger
	count  func(reason string)
	lines  limiter
	causes causes
}

// NewReporter returns a Reporter that calls count for each rejection.
func NewReporter(log *slog.Logger, count func(reason string)) *Reporter {
	r := &Reporter{log: log, count: count}
	r.lines.summarize = func(omitted int) {
		log.Warn("rejections were not logged", "number", omitted, "linesPerSecond", linesPerSecond)
	}
	return r
}

// Count counts a rejection that is not logged, or that the caller has already logged.
func (r *Reporter) Count(reason string) { r.count(reason) }

// Report counts and logs a rejection.
func (r *Reporter) Report(what Rejection) {
	r.count(what.Reason)
	r.write(what)
}

func (r *Reporter) write(what Rejection) {
	if !r.lines.allow(time.Now()) {
		return
	}
	attributes := []any{"remote", what.Remote, "protocol", what.Protocol, "reason", what.Reason, "detail",
		what.Detail[:min(len(what.Detail), maxDetail)]}
	if what.Status != 0 {
		attributes = append(attributes, "status", what.Status)
	}
	r.log.Warn("rejected before a handler", attributes...)
}

// ErrorLog returns a logger for http.Server.ErrorLog.
func (r *Reporter) ErrorLog() *log.Logger { return log.New(errorLog{r}, "", 0) }

type errorLog struct{ reporter *Reporter }

// Write implements io.Writer. HTTP/2 lines count toward the limit for rejections, because clients can trigger them.
func (l errorLog) Write(line []byte) (int, error) {
	text := strings.TrimSuffix(string(line), "\n")
	isOfClient := !strings.HasPrefix(text, "http: ") && !strings.HasPrefix(text, "http2: panic ")
	switch {
	case strings.HasPrefix(text, "http2: server connection error from "): // Frames reports the same error with more details
	case isOfClient && !l.reporter.lines.allow(time.Now()):
	default:
		l.reporter.log.Warn(text)
	}
	return len(line), nil
}
