package transport

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestReporter_limit reports many rejections. In each second, ten must be logged; the first line after them reports how many were omitted.
func TestReporter_limit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, counts := &echotest.LockedBuffer{}, 0
		reporter := NewReporter(slog.New(slog.NewTextHandler(log, nil)), func(string) { counts++ })
		report := func(times int) {
			for range times {
				reporter.report(rejection{remote: "a:1", protocol: "HTTP/1", status: 400, reason: ReasonTLS, detail: strings.Repeat("x", 10_000)})
			}
		}
		report(4)
		<-time.After(900 * time.Millisecond)
		report(1000)
		if got := strings.Count(log.String(), "remote=a:1"); got != linesPerSecond {
			t.Errorf("in the first second: %d lines", got)
		}
		<-time.After(100 * time.Millisecond)
		report(2)
		if got := log.String(); strings.Count(got, "remote=a:1") != linesPerSecond+2 || strings.Count(got, "omitted=994\n") != 1 {
			t.Errorf("after the next second has begun: %s", got)
		}
		if counts != 1006 || len(log.String()) > 12*(maxDetail+200) {
			t.Errorf("%d are counted; the log has %d bytes", counts, len(log.String()))
		}
	})
}

// TestReporter_ErrorLog writes lines that net/http logs, including HTTP/2 lines that clients can trigger.
func TestReporter_ErrorLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, counts := &echotest.LockedBuffer{}, map[string]int{}
		reporter := NewReporter(slog.New(slog.NewTextHandler(log, nil)), func(reason string) { counts[reason]++ })
		errorLog := reporter.ErrorLog()
		errorLog.Print("http2: server connection error from [::1]:5: connection error: PROTOCOL_ERROR")
		for range 100 {
			errorLog.Print("http2: received GOAWAY")
			errorLog.Print("http2: panic serving a:1")
			errorLog.Print("http: panic serving a:1")
		}
		for text, want := range map[string]int{"reason=http2_connection": 1, `detail="connection error: PROTOCOL_ERROR" remote=[::1]:5`: 1,
			"received GOAWAY": linesPerSecond - 1, "http2: panic": 100, "http: panic": 100} {
			if got := strings.Count(log.String(), text); got != want {
				t.Errorf("%s: %d lines, want %d", text, got, want)
			}
		}
		if diff := cmp.Diff(map[string]int{ReasonHTTP2Connection: 1}, counts); diff != "" {
			t.Errorf("the counts (-want +got):\n%s", diff)
		}
	})
}
