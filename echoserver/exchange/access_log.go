package exchange

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxLogged is the maximum length, in bytes, of each string that a log line takes from a request.
const MaxLogged = 1 << 10

// LogAccess writes a log line for a request. The line contains neither the query nor any header except Host and X-Request-Id, because
// queries and other headers can contain secrets.
func LogAccess(log *slog.Logger, e *Exchange, r *http.Request) {
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0) // slog.Logger would be slower, because it looks up the caller
	line.AddAttrs(
		slog.String("id", printable(e.ID)),
		slog.String("method", printable(r.Method)),
		slog.String("host", printable(r.Host)),
		slog.String("path", printable(rawPath(r))),
		slog.String("proto", r.Proto),
		slog.Int("status", e.StatusOrOK()),
		slog.Int64("bytes", e.written),
		slog.String("remote", r.RemoteAddr),
		slog.Duration("nanoseconds", line.Time.Sub(e.Began)))
	if e.Client != "" {
		line.AddAttrs(slog.Group("client", slog.String("address", e.Client)))
	}
	if e.GRPCStatus != "" {
		line.AddAttrs(slog.String("grpcStatus", e.GRPCStatus))
	}
	_ = log.Handler().Handle(r.Context(), line) // there is nowhere to report the error
}

// Truncate shortens a string from a request to at most MaxLogged bytes, for logs and errors.
func Truncate(text string) string {
	return text[:min(len(text), MaxLogged)]
}

// rawPath returns a request's path as received. It omits the query and, in a full URL, the user and host.
func rawPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if strings.HasPrefix(path, "/") || path == "*" {
		return path
	}
	_, path, _ = strings.Cut(path, ":") // after the scheme
	path = strings.TrimPrefix(path, "//")
	if begin := strings.IndexByte(path, '/'); begin >= 0 && r.URL.Opaque == "" {
		return path[begin:]
	}
	return ""
}

// printable returns the beginning of a string from a request. It escapes control characters, which a terminal could act on, and bytes that
// are not UTF-8, which the log would replace.
func printable(text string) string {
	text = Truncate(text)
	if strings.IndexFunc(text, mustEscape) < 0 {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		char, size := utf8.DecodeRuneInString(rest)
		switch {
		case char == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case mustEscape(char):
			fmt.Fprintf(&b, `\u%04x`, char)
		default:
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return b.String()
}

// mustEscape reports whether a character is a control character, a format character, or U+FFFD. Format characters can change the direction
// of text, and U+FFFD may stand for invalid UTF-8.
func mustEscape(char rune) bool {
	return unicode.IsControl(char) || char == utf8.RuneError || unicode.Is(unicode.Cf, char)
}
