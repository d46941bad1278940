package tracing

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "till"}}

// newTracer returns a tracer for a collector.
func newTracer(t *testing.T, c *collector) Tracer {
	t.Helper()
	tracer, err := New(settingsFor(t, c.Server), "v1.2.3", newDropped(), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// TestASpanForEachPassWithOneForEachRequest checks the spans of a pass that sends three requests, of which one has no answer.
func TestASpanForEachPassWithOneForEachRequest(t *testing.T) {
	c := newCollector(t, httptest.NewServer)
	tracer, refused := newTracer(t, c), errors.New("refused")
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
	pass := tracer.Passes("echo", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		SetGeneration(ctx, 7)
		send(ctx, http.MethodPatch, "/apis/example.com/v1/namespaces/shop/echoes/till/status")
		send(ctx, http.MethodGet, "/api/v1/namespaces/shop/services/till")
		send(ctx, http.MethodPost, "/apis/apps/v1/namespaces/shop/deployments")
		SetFailure(ctx, "ApplyFailed", refused)
		return reconcile.Result{}, refused
	}))
	if _, err := pass.Reconcile(t.Context(), request); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	send(t.Context(), http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/shop/leases/x")
	tracer.Close(time.Minute)

	all := c.spans()
	parent := all["pass echo"]
	want := map[string]string{"echo_operator.controller": "echo", "echo_operator.namespace": "shop", "echo_operator.name": "till",
		"echo_operator.reconcile_id": "", "echo_operator.generation": "7", "echo_operator.result": "error", "error.type": "ApplyFailed"}
	if got := texts(parent.Attributes); len(all) != 4 || !reflect.DeepEqual(got, want) || parent.Status != (status{2, "refused"}) || parent.ParentSpanID != "" {
		t.Errorf("%d spans; that of the pass: %v, %+v", len(all), got, parent)
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
		if got := texts(s.Attributes); !reflect.DeepEqual(got, want) || s.ParentSpanID != parent.SpanID || s.TraceID != parent.TraceID || s.Kind != 3 {
			t.Errorf("%s: %v, %+v", name, got, s)
		}
	}
}

func TestResultsArePassedOn(t *testing.T) {
	c := newCollector(t, httptest.NewServer)
	tracer := newTracer(t, c)
	for name, want := range map[string]reconcile.Result{"success": {}, "requeue_after": {RequeueAfter: time.Second}} {
		got, err := tracer.Passes(name, reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return want, nil })).
			Reconcile(t.Context(), request)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	tracer.Close(time.Minute)
	for _, name := range []string{"success", "requeue_after"} {
		if s := c.spans()["pass "+name]; texts(s.Attributes)["echo_operator.result"] != name || s.Status.Code != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestWhatTheEnvironmentSaysOfTheProcess: it wins over what the program knows. What it says cannot be left out without a word.
func TestWhatTheEnvironmentSaysOfTheProcess(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{"", "mine"} {
		t.Setenv("OTEL_SERVICE_NAME", given)
		about, err := describe("v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		got := texts(encodeAttributes(about.Attributes()))
		if got["service.name"] != cmp.Or(given, "echo-operator") || got["service.version"] != "v1.2.3" || got["service.instance.id"] != host || got["telemetry.sdk.language"] != "go" {
			t.Errorf("%q: %v", given, got)
		}
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "cluster")
	if _, err := describe("v1.2.3"); err == nil {
		t.Error("an attribute without a value is not an error")
	}
}

func TestSampling(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	c := newCollector(t, httptest.NewServer)
	tracer := newTracer(t, c)
	_, _ = tracer.Passes("echo", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		transport := tracer.Wrap(roundTrip(func(*http.Request) (*http.Response, error) { return nil, http.ErrHandlerTimeout }))
		response, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/api", nil))
		if err == nil {
			_ = response.Body.Close()
		}
		return reconcile.Result{}, err
	})).Reconcile(t.Context(), request)
	tracer.Close(time.Minute)
	if all := c.spans(); len(all) > 0 {
		t.Errorf("got %v", all)
	}
}

func TestNothingIsDoneWithoutACollector(t *testing.T) {
	before := runtime.NumGoroutine()
	tracer, err := New(Settings{}, "v1", nil, logr.Discard())
	if err != nil || tracer != (Tracer{}) || runtime.NumGoroutine() > before {
		t.Errorf("got %+v, %v; %d goroutines, before: %d", tracer, err, runtime.NumGoroutine(), before)
	}
	next := &noPass{}
	if got := tracer.Passes("echo", next); got != reconcile.Reconciler(next) {
		t.Errorf("passes are made by a %T", got)
	}
	if got := tracer.Wrap(http.DefaultTransport); got != http.DefaultTransport {
		t.Errorf("requests are sent by a %T", got)
	}
	ctx, failure := context.WithValue(t.Context(), key{}, 1), errors.New("no")
	if allocations := testing.AllocsPerRun(10, func() {
		SetGeneration(ctx, 1<<40)
		SetFailure(ctx, "ApplyFailed", failure)
	}); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
	tracer.Close(time.Minute)
}

func TestSpansAreSentWhenTheProcessEndsButNotForLong(t *testing.T) {
	c, end := newCollector(t, httptest.NewServer), make(chan struct{})
	defer close(end)
	c.answers(func(http.ResponseWriter, *http.Request) { <-end })
	log := &logged{}
	tracer, err := New(settingsFor(t, c.Server), "v1", newDropped(), log.logger())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = tracer.Passes("echo", &noPass{}).Reconcile(t.Context(), request)
	tracer.Close(time.Second)
	if len(c.spans()) != 1 || len(log.all()) != 2 {
		t.Errorf("%v were sent, and it says %q", c.spans(), log.all())
	}
	_, _ = tracer.Passes("late", &noPass{}).Reconcile(t.Context(), request)
}

// TestPassesDoNotWaitForTheCollector checks that with one that does not answer, all spans but a bounded number are dropped and counted.
func TestPassesDoNotWaitForTheCollector(t *testing.T) {
	c, end := newCollector(t, httptest.NewServer), make(chan struct{})
	c.answers(func(http.ResponseWriter, *http.Request) { <-end })
	dropped := newDropped()
	tracer, err := New(settingsFor(t, c.Server), "v1", dropped, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	const more = 100
	pass := tracer.Passes("echo", &noPass{})
	for range maxWaiting + more {
		_, _ = pass.Reconcile(t.Context(), request)
	}
	if n := testutil.ToFloat64(dropped); n != more {
		t.Errorf("%v are dropped, want %d", n, more)
	}
	close(end)
	tracer.Close(time.Minute)
	sent := 0
	for _, r := range c.received {
		sent += len(r.ResourceSpans[0].ScopeSpans[0].Spans)
	}
	if sent != maxWaiting {
		t.Errorf("%d are sent, want %d", sent, maxWaiting)
	}
}

type key struct{}

// noPass is a reconciler that does nothing.
type noPass struct{ _ int }

// Reconcile implements reconcile.Reconciler.
func (*noPass) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
