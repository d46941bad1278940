package rejections

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestReporter_limit reports many rejections. Within any second, ten must be logged, and the others summarized.
func TestReporter_limit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, counts := &echotest.LockedBuffer{}, 0
		reporter := NewReporter(slog.New(slog.NewTextHandler(log, nil)), func(string) { counts++ })
		report := func(times int) {
			for range times {
				reporter.Report(Rejection{Remote: "a:1", Protocol: "HTTP/1.1", Status: 400, Reason: ReasonHost, Detail: strings.Repeat("x", 10_000)})
			}
		}
		check := func(when string, lines int, summaries ...string) {
			t.Helper()
			synctest.Wait()
			if got := strings.Count(log.String(), "remote=a:1"); got != lines {
				t.Errorf("%s: %d lines", when, got)
			}
			if got := strings.Count(log.String(), "were not logged"); got != len(summaries) {
				t.Errorf("%s: %d summaries", when, got)
			}
			for _, each := range summaries {
				if !strings.Contains(log.String(), each) {
					t.Errorf("%s: %s is missing", when, each)
				}
			}
		}
		report(4)
		<-time.After(900 * time.Millisecond)
		report(1000)
		check("at 0.9 s", 10)
		<-time.After(100 * time.Millisecond)
		report(1000)
		check("at 1.0 s", 14)
		<-time.After(2 * time.Second)
		check("at 3.0 s", 14, "number=1990")
		report(11)
		check("again", 24, "number=1990")
		<-time.After(time.Second)
		check("at 4.0 s", 24, "number=1990", "number=1 ")
		if counts != 2015 || len(log.String()) > 26*(maxDetail+200) {
			t.Errorf("%d are counted; the log has %d bytes", counts, len(log.String()))
		}
	})
}

// TestReporter_blockedLog reports rejections while nothing reads the log. However long this lasts, only one goroutine may wait for the log.
func TestReporter_blockedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unblock := make(chan struct{})
		summaries := 0
		l := &limiter{}
		l.summarize = func(int) {
			<-unblock
			summaries++
		}
		for range 100 {
			l.allow(time.Now())
			<-time.After(second / 20)
		}
		close(unblock)
		<-time.After(2 * second)
		synctest.Wait()
		if summaries != 2 || l.omitted != 0 {
			t.Errorf("there were %d summaries; %d lines are omitted", summaries, l.omitted)
		}
	})
}

// TestReporter_ErrorLog writes lines that net/http logs, including HTTP/2 lines that clients can trigger.
func TestReporter_ErrorLog(t *testing.T) {
	log := &echotest.LockedBuffer{}
	errorLog := NewReporter(slog.New(slog.NewTextHandler(log, nil)), func(string) {}).ErrorLog()
	for range 100 {
		errorLog.Print("http2: server connection error from a:1: connection error: PROTOCOL_ERROR")
		errorLog.Print("http2: received GOAWAY")
		errorLog.Print("http2: panic serving a:1")
		errorLog.Print("http: panic serving a:1")
	}
	for text, want := range map[string]int{"server connection error": 0, "received GOAWAY": linesPerSecond, "http2: panic": 100,
		"http: panic": 100} {
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("%s: %d lines, want %d", text, got, want)
		}
	}
}
