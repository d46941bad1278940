package tracing

import (
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/echo-operator/echo-operator/tests/support/collector"
)

// TestNew_readsExporterSettings checks that the exporter reads its settings from the environment.
func TestNew_readsExporterSettings(t *testing.T) {
	g := NewWithT(t)
	c := collector.New(nil)
	c.StartTLS()
	t.Cleanup(c.Close)
	authority := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	g.Expect(os.WriteFile(authority, text, 0o600)).To(Succeed())
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", authority)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=a%20b")
	tracer := newTracer(t, logr.Discard())
	_, _ = tracer.Reconciler("echo", &noReconcile{}).Reconcile(t.Context(), request)
	tracer.Close(time.Minute)
	sent := c.Requests()
	g.Expect(sent).To(HaveLen(1))
	if r := sent[0]; r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		r.Header.Get("X-Token") != "a b" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
}

// TestReportTo_logsErrorsWithoutSecrets checks that the log contains the errors that the libraries cannot return, but no secrets.
func TestReportTo_logsErrorsWithoutSecrets(t *testing.T) {
	g := NewWithT(t)
	startCollector(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "full", http.StatusInsufficientStorage) })
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "canary")
	log := &logged{}
	tracer := newTracer(t, log.logger())
	_, _ = tracer.Reconciler("echo", &noReconcile{}).Reconcile(t.Context(), request)
	tracer.Close(time.Minute)
	all := strings.Join(log.all(), "\n")
	for _, want := range []string{"507 Insufficient Storage", "parse headers"} {
		g.Expect(all).To(ContainSubstring(want))
	}
	g.Expect(all).NotTo(ContainSubstring("canary"))
}

func TestClose_sendsSpansUntilTimeout(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	c := startCollector(t, func(http.ResponseWriter, *http.Request) { <-end })
	log := &logged{}
	tracer := newTracer(t, log.logger())
	_, _ = tracer.Reconciler("echo", &noReconcile{}).Reconcile(t.Context(), request)
	tracer.Close(time.Second)
	if all := strings.Join(log.all(), "\n"); len(c.Spans()) != 1 || !strings.Contains(all, "The last spans were not sent.") {
		t.Errorf("%v were sent, and the log has %s", c.Spans(), all)
	}
	_, _ = tracer.Reconciler("late", &noReconcile{}).Reconcile(t.Context(), request)
}

// TestReconciler_doesNotWaitForCollector checks that only a bounded number of spans wait for a collector that does not respond.
func TestReconciler_doesNotWaitForCollector(t *testing.T) {
	end := make(chan struct{})
	c := startCollector(t, func(http.ResponseWriter, *http.Request) { <-end })
	tracer := newTracer(t, logr.Discard())
	reconciler := tracer.Reconciler("echo", &noReconcile{})
	const bound = sdktrace.DefaultMaxQueueSize + 2*sdktrace.DefaultMaxExportBatchSize
	for range 2 * bound {
		_, _ = reconciler.Reconcile(t.Context(), request)
	}
	close(end)
	tracer.Close(time.Minute)
	if sent := len(c.Spans()); sent == 0 || sent > bound {
		t.Errorf("%d are sent, want at most %d", sent, bound)
	}
}

// logged is a log that can be read while it is being written.
type logged struct {
	lock  sync.Mutex
	lines []string
}

func (l *logged) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		l.lock.Lock()
		defer l.lock.Unlock()
		l.lines = append(l.lines, line)
	}, funcr.Options{})
}

func (l *logged) all() []string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return slices.Clone(l.lines)
}
