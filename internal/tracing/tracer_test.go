package tracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/tests/support/collector"
)

var request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "till"}}

// startCollector starts a collector for the test, and sets its address in the environment.
func startCollector(t *testing.T, respond http.HandlerFunc) *collector.Collector {
	t.Helper()
	c := collector.New(respond)
	c.Start()
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	return c
}

// newTracer returns a tracer for the collector that the environment names.
func newTracer(t *testing.T, log logr.Logger) Tracer {
	t.Helper()
	tracer, err := New(true, "v1.2.3", log)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return tracer
}

// byName returns the spans that a collector received, keyed by name.
func byName(c *collector.Collector) map[string]*tracepb.Span {
	all := map[string]*tracepb.Span{}
	for _, s := range c.Spans() {
		all[s.GetName()] = s
	}
	return all
}

// TestReconciler_spanWithOneForEachRequest checks the spans of a reconcile that sends three requests, including one that gets no response.
func TestReconciler_spanWithOneForEachRequest(t *testing.T) {
	c := startCollector(t, nil)
	tracer, refused := newTracer(t, logr.Discard()), errors.New("refused")
	transport := tracer.Wrap(roundTrip(func(r *http.Request) (*http.Response, error) {
		switch r.Method {
		case http.MethodPost:
			return nil, refused
		case http.MethodGet:
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}
		return &http.Response{StatusCode: http.StatusConflict, Status: "409 Conflict", Body: http.NoBody}, nil
	}))
	send := func(ctx context.Context, method, path string) {
		if response, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, method, path, nil)); err == nil {
			_ = response.Body.Close()
		}
	}
	reconciler := tracer.Reconciler("echo", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		SetGeneration(ctx, 7)
		send(ctx, http.MethodPatch, "/apis/example.com/v1/namespaces/shop/echoes/till/status")
		send(ctx, http.MethodGet, "/api/v1/namespaces/shop/services/till")
		send(ctx, http.MethodPost, "/apis/apps/v1/namespaces/shop/deployments")
		SetFailure(ctx, "ApplyFailed", refused)
		return reconcile.Result{}, refused
	}))
	NewWithT(t).Expect(reconciler.Reconcile(t.Context(), request)).Error().To(MatchError(refused))
	send(t.Context(), http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/shop/leases/x")
	tracer.Close(time.Minute)

	all := byName(c)
	parent := all["reconcile echo"]
	want := map[string]string{"echo_operator.controller": "echo", "echo_operator.namespace": "shop", "echo_operator.name": "till",
		"echo_operator.reconcile_id": "", "echo_operator.generation": "7", "echo_operator.result": "error", "error.type": "ApplyFailed"}
	if got := collector.Attributes(parent.GetAttributes()); len(all) != 4 || !reflect.DeepEqual(got, want) ||
		len(parent.GetParentSpanId()) > 0 ||
		parent.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || parent.GetStatus().GetMessage() != "refused" {
		t.Errorf("%d spans; the reconcile has %v, %v", len(all), got, parent)
	}
	for name, want := range map[string]map[string]string{
		"patch echoes/status": {"echo_operator.verb": "patch", "echo_operator.resource": "echoes/status", "http.request.method": "PATCH",
			"http.response.status_code": "409", "error.type": "409", "url.path": "/apis/example.com/v1/namespaces/shop/echoes/till/status"},
		"get services": {"echo_operator.verb": "get", "echo_operator.resource": "services", "http.request.method": "GET",
			"http.response.status_code": "200", "url.path": "/api/v1/namespaces/shop/services/till"},
		"create deployments": {"echo_operator.verb": "create", "echo_operator.resource": "deployments", "http.request.method": "POST",
			"error.type": "_OTHER", "url.path": "/apis/apps/v1/namespaces/shop/deployments"},
	} {
		s := all[name]
		if got := collector.Attributes(s.GetAttributes()); !reflect.DeepEqual(got, want) ||
			!bytes.Equal(s.GetParentSpanId(), parent.GetSpanId()) ||
			!bytes.Equal(s.GetTraceId(), parent.GetTraceId()) || s.GetKind() != tracepb.Span_SPAN_KIND_CLIENT {
			t.Errorf("%s: %v, %v", name, got, s)
		}
	}
}

func TestReconciler_returnsAndRecordsResult(t *testing.T) {
	g := NewWithT(t)
	c := startCollector(t, nil)
	tracer := newTracer(t, logr.Discard())
	for name, want := range map[string]reconcile.Result{"success": {}, "requeue_after": {RequeueAfter: time.Second}} {
		got, err := tracer.Reconciler(name,
			reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return want, nil })).
			Reconcile(t.Context(), request)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(got).To(Equal(want), name)
	}
	tracer.Close(time.Minute)
	for _, name := range []string{"success", "requeue_after"} {
		s := byName(c)["reconcile "+name]
		g.Expect(collector.Attributes(s.GetAttributes())["echo_operator.result"]).To(Equal(name))
		g.Expect(s.GetStatus().GetCode()).To(Equal(tracepb.Status_STATUS_CODE_UNSET))
	}
}

// TestDescribe_prefersEnvironment checks that the environment takes precedence over the program's own attributes, and that an invalid
// attribute causes an error.
func TestDescribe_prefersEnvironment(t *testing.T) {
	g := NewWithT(t)
	host, err := os.Hostname()
	g.Expect(err).NotTo(HaveOccurred())
	for _, given := range []string{"", "mine"} {
		t.Setenv("OTEL_SERVICE_NAME", given)
		about, err := describe("v1.2.3")
		g.Expect(err).NotTo(HaveOccurred())
		got := map[string]string{}
		for _, a := range about.Attributes() {
			got[string(a.Key)] = a.Value.AsString()
		}
		if got["service.name"] != cmp.Or(given, "echo-operator") || got["service.version"] != "v1.2.3" || got["service.instance.id"] != host ||
			got["telemetry.sdk.language"] != "go" {
			t.Errorf("%q: %v", given, got)
		}
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "cluster")
	g.Expect(describe("v1.2.3")).Error().To(HaveOccurred(), "an attribute without a value is not an error")
}

func TestNew_respectsSampler(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	c := startCollector(t, nil)
	tracer := newTracer(t, logr.Discard())
	_, _ = tracer.Reconciler("echo", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		transport := tracer.Wrap(roundTrip(func(*http.Request) (*http.Response, error) { return nil, http.ErrHandlerTimeout }))
		response, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/api", nil))
		if err == nil {
			_ = response.Body.Close()
		}
		return reconcile.Result{}, err
	})).Reconcile(t.Context(), request)
	tracer.Close(time.Minute)
	NewWithT(t).Expect(c.Spans()).To(BeEmpty())
}

func TestEnabled(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"
	for environment, want := range map[string]bool{
		"":                                 false,
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc": false,
		endpoint:                           true,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:1/in":      true,
		endpoint + " OTEL_SDK_DISABLED=True":                    false,
		endpoint + " OTEL_SDK_DISABLED=false":                   true,
		endpoint + " OTEL_TRACES_EXPORTER=otlp":                 true,
		endpoint + " OTEL_TRACES_EXPORTER=none":                 false,
		endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf": true,
	} {
		variables := map[string]string{}
		for variable := range strings.FieldsSeq(environment) {
			name, value, _ := strings.Cut(variable, "=")
			variables[name] = value
		}
		NewWithT(t).Expect(Enabled(func(name string) string { return variables[name] })).To(Equal(want), "%s", environment)
	}
}

func TestTracer_disabledDoesNothing(t *testing.T) {
	before, next := runtime.NumGoroutine(), &noReconcile{}
	tracer, err := New(false, "v1", logr.Discard())
	if err != nil || tracer != (Tracer{}) || runtime.NumGoroutine() > before {
		t.Errorf("got %+v, %v; %d goroutines, before: %d", tracer, err, runtime.NumGoroutine(), before)
	}
	if got := tracer.Reconciler("echo", next); got != reconcile.Reconciler(next) {
		t.Errorf("reconciles are done by a %T", got)
	}
	if got := tracer.Wrap(http.DefaultTransport); got != http.DefaultTransport {
		t.Errorf("requests are sent by a %T", got)
	}
	tracer.Close(time.Minute)
}

func TestTracer_disabledAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	ctx, failure := context.WithValue(t.Context(), key{}, 1), errors.New("no")
	if allocations := testing.AllocsPerRun(10, func() {
		SetGeneration(ctx, 1<<40)
		SetFailure(ctx, "ApplyFailed", failure)
	}); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}

type key struct{}

// noReconcile is a reconciler that does nothing.
type noReconcile struct{ _ int }

// Reconcile implements reconcile.Reconciler.
func (*noReconcile) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
