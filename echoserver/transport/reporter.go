package transport

import (
	"bytes"
	"log"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// These constants are the reasons for rejecting a connection or a request before a handler is called. If net/http itself sends the
// response, the reason is the status code.
const (
	ReasonProxyProtocol   = "proxy_protocol"    // the connection begins with a PROXY protocol header
	ReasonTLS             = "tls"               // a TLS handshake on a port without TLS
	ReasonNoTLS           = "no_tls"            // plain HTTP on the TLS port
	ReasonHandshake       = "tls_handshake"     // the handshake failed
	ReasonIncomplete      = "incomplete_header" // the header did not arrive in time
	ReasonHTTP2Connect    = "http2_connect"     // an invalid CONNECT request, or a WebSocket request (RFC 8441)
	ReasonHTTP2Stream     = "http2_stream"      // the stream was reset
	ReasonHTTP2Connection = "http2_connection"  // the connection was closed because of an error
	statusPrefix          = "status_"
)

// Reasons returns all reasons.
func Reasons() []string {
	return []string{ReasonProxyProtocol, ReasonTLS, ReasonNoTLS, ReasonHandshake, ReasonIncomplete, ReasonHTTP2Connect, ReasonHTTP2Stream,
		ReasonHTTP2Connection, statusPrefix + "400", statusPrefix + "417", statusPrefix + "431", statusPrefix + "501", statusPrefix + "505"}
}

// These constants are the details for ReasonTLS, ReasonNoTLS, and ReasonProxyProtocol.
const (
	detailTLS   = "this port has no TLS: use http"
	detailNoTLS = "this port requires TLS: use https"
	detailProxy = "the PROXY protocol is not supported: turn it off where the load balancer or the proxy connects to this server"
)

const (
	// linesPerSecond is the maximum number of rejections that the process logs per second. A per-client limit would not protect the log from a
	// flood from many clients.
	linesPerSecond = 10
	// maxDetail limits the length, in bytes, of a detail in the log, because a TLS error can contain data from a client.
	maxDetail = 256
)

type rejection struct {
	remote   string // the client's address; empty if net/http does not report it
	protocol string
	status   int // the status code of the response, or 0 if there is none
	reason   string
	detail   string // must not contain data that may be secret
}

// Reporter counts all rejections, and limits how many it logs per second.
type Reporter struct {
	log *slog.Logger
	// Count counts a rejection that is not logged, or that the caller has already logged.
	Count func(reason string)

	mutex   sync.Mutex
	second  int64 // the Unix time of the last line
	logged  int   // the number of lines in that second
	omitted int   // the number of lines that were omitted since the last line
}

// NewReporter returns a Reporter that calls count for each rejection.
func NewReporter(log *slog.Logger, count func(reason string)) *Reporter {
	return &Reporter{log: log, Count: count}
}

func (r *Reporter) report(what rejection) {
	r.Count(what.reason)
	attributes := []any{"protocol", what.protocol, "reason", what.reason, "detail", what.detail[:min(len(what.detail), maxDetail)]}
	if what.remote != "" {
		attributes = append(attributes, "remote", what.remote)
	}
	if what.status != 0 {
		attributes = append(attributes, "status", what.status)
	}
	r.write("rejected before a handler", attributes...)
}

// write logs a line that clients can trigger, unless there are too many.
func (r *Reporter) write(text string, attributes ...any) {
	omitted, ok := r.allow()
	if !ok {
		return
	}
	if omitted > 0 {
		attributes = append(attributes, "omitted", omitted)
	}
	r.log.Warn(text, attributes...)
}

// allow reports whether a line can be logged now, and how many lines were omitted before it.
func (r *Reporter) allow() (omitted int, ok bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if second := time.Now().Unix(); second != r.second {
		r.second, r.logged = second, 0
	}
	if r.logged == linesPerSecond {
		r.omitted++
		return 0, false
	}
	r.logged++
	omitted, r.omitted = r.omitted, 0
	return omitted, true
}

// CountError is the callback for http.HTTP2Config.CountError. It reports errors that reset a stream, except frames that arrive after a
// stream was closed. ErrorLog reports errors that close a connection.
func (r *Reporter) CountError(errorType string) {
	name, ok := strings.CutPrefix(errorType, "stream_")
	if !ok || strings.HasPrefix(name, "STREAM_CLOSED_") {
		return
	}
	what := rejection{protocol: "HTTP/2.0", reason: ReasonHTTP2Stream, detail: name}
	if strings.HasSuffix(name, "_bad_connect") {
		what.reason = ReasonHTTP2Connect
	}
	r.report(what)
}

// ErrorLog returns a logger for http.Server.ErrorLog.
func (r *Reporter) ErrorLog() *log.Logger { return log.New(errorLog{r}, "", 0) }

type errorLog struct{ reporter *Reporter }

// Write implements io.Writer. HTTP/2 lines count toward the limit for rejections, because clients can trigger them.
func (l errorLog) Write(line []byte) (int, error) {
	text := strings.TrimSuffix(string(line), "\n")
	rejected, isRejection := strings.CutPrefix(text, "http2: server connection error from ")
	switch {
	case isRejection:
		remote, detail, _ := strings.Cut(rejected, ": ")
		l.reporter.report(rejection{remote: remote, protocol: "HTTP/2.0", reason: ReasonHTTP2Connection, detail: detail})
	case strings.HasPrefix(text, "http: "), strings.HasPrefix(text, "http2: panic "):
		l.reporter.log.Warn(text)
	default:
		l.reporter.write(text)
	}
	return len(line), nil
}

// isTLS reports whether a connection begins with a TLS handshake record (RFC 8446, 5.1).
func isTLS(beginning []byte) bool {
	return len(beginning) >= 3 && beginning[0] == 0x16 && beginning[1] == 3 && beginning[2] <= 4
}

// proxyProtocol returns the name of the PROXY protocol whose header is at the beginning of a connection, or "" for other data. Five bytes
// are enough to recognize the header.
func proxyProtocol(beginning []byte) string {
	switch {
	case bytes.HasPrefix(beginning, []byte("\r\n\r\n\x00")):
		return "PROXY v2"
	case bytes.HasPrefix(append(slices.Clip(beginning), ' '), []byte("PROXY ")):
		return "PROXY v1"
	}
	return ""
}
