package telemetry

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/tests/support/collector"
)

// send creates a tracer and sends the span of a reconcile to the collector that the environment names.
func send(t *testing.T, log logr.Logger) {
	t.Helper()
	g := NewWithT(t)
	tracer, err := NewTracer("v1.2.3", log)
	g.Expect(err).NotTo(HaveOccurred())
	_, span := tracer.Tracer("test").Start(t.Context(), "sent")
	span.End()
	g.Expect(tracer.Shutdown(t.Context())).To(Succeed())
}

// TestNewTracer_logsErrorsWithoutSecrets checks that the log contains the errors that the libraries cannot return, but no secrets.
func TestNewTracer_logsErrorsWithoutSecrets(t *testing.T) {
	g := NewWithT(t)
	c := collector.New(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "full", http.StatusInsufficientStorage) })
	c.Start()
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "canary")
	var lock sync.Mutex
	var lines []string
	send(t, funcr.New(func(_, line string) {
		lock.Lock()
		defer lock.Unlock()
		lines = append(lines, line)
	}, funcr.Options{}))
	lock.Lock()
	defer lock.Unlock()
	all := strings.Join(lines, "\n")
	g.Expect(all).To(And(ContainSubstring("507 Insufficient Storage"), ContainSubstring("parse headers"), Not(ContainSubstring("canary"))))
}

// TestNewTracer_prefersEnvironment checks that the environment overrides the program's attributes and that invalid attributes cause errors.
func TestNewTracer_prefersEnvironment(t *testing.T) {
	g := NewWithT(t)
	host, err := os.Hostname()
	g.Expect(err).NotTo(HaveOccurred())
	for _, given := range []string{"", "mine"} {
		t.Setenv("OTEL_SERVICE_NAME", given)
		tracer, err := NewTracer("v1.2.3", logr.Discard())
		g.Expect(err).NotTo(HaveOccurred())
		_, span := tracer.Tracer("test").Start(t.Context(), "unsent")
		got := map[string]string{}
		for _, a := range span.(sdktrace.ReadOnlySpan).Resource().Attributes() {
			got[string(a.Key)] = a.Value.AsString()
		}
		if got["service.name"] != cmp.Or(given, "echo-operator") || got["service.version"] != "v1.2.3" || got["host.name"] != host ||
			got["telemetry.sdk.language"] != "go" {
			t.Errorf("%q: %v", given, got)
		}
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "cluster")
	g.Expect(NewTracer("v1", logr.Discard())).Error().To(MatchError(ContainSubstring("OTEL_RESOURCE_ATTRIBUTES: it must be")))
}

func TestTracer_recordsFailure(t *testing.T) {
	g := NewWithT(t)
	spans, refused := tracetest.NewSpanRecorder(), errors.New("refused")
	tracer := &Tracer{sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))}
	for _, reason := range []string{"ApplyFailed", ""} {
		want := reconcile.Result{RequeueAfter: 1}
		got, err := tracer.Reconciler("echo", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			SetSpanFailure(ctx, reason, refused)
			return want, refused
		})).Reconcile(t.Context(), reconcile.Request{Namespace: "shop", Name: "till"})
		g.Expect(got).To(Equal(want))
		g.Expect(err).To(MatchError(refused))
	}
	g.Expect(spans.Ended()).To(HaveLen(2))
	for i, reason := range []string{"ApplyFailed", "_OTHER"} {
		span := spans.Ended()[i]
		attributes := []string{}
		for _, a := range span.Attributes() {
			attributes = append(attributes, string(a.Key)+"="+a.Value.AsString())
		}
		slices.Sort(attributes)
		g.Expect(attributes).To(HaveExactElements("echo_operator.controller=echo", "echo_operator.name=till", "echo_operator.namespace=shop",
			"echo_operator.reconcile_id=", "error.type="+reason))
		g.Expect(span.Name()).To(Equal("reconcile echo"))
		g.Expect(span.Status()).To(Equal(sdktrace.Status{Code: codes.Error, Description: "refused"}))
	}
}
