package tracing

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func pemOf(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

func spansNamed(names ...string) []sdktrace.ReadOnlySpan {
	stubs := make(tracetest.SpanStubs, len(names))
	for i, name := range names {
		stubs[i].Name = name
	}
	return stubs.Snapshots()
}

func TestRequestsAreSentAsConfigured(t *testing.T) {
	c := newCollector(t, httptest.NewTLSServer)
	settings, err := read("OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-token=secret",
		"OTEL_EXPORTER_OTLP_CERTIFICATE="+certificateOf(t, c.Server))
	if err != nil {
		t.Fatal(err)
	}
	dropped := newDropped()
	if err := newExporter(settings, "v1", dropped, (&logged{}).logger()).ExportSpans(t.Context(), spansNamed("a")); err != nil || testutil.ToFloat64(dropped) != 0 {
		t.Fatalf("%v, %v are dropped", err, testutil.ToFloat64(dropped))
	}
	r := c.requests[0]
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("X-Token") != "secret" || r.UserAgent() != "echo-operator/v1" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	settings.authorities = nil
	if newExporter(settings, "v1", dropped, (&logged{}).logger()).ExportSpans(t.Context(), spansNamed("a", "b")) != nil || testutil.ToFloat64(dropped) != 2 {
		t.Errorf("%v are dropped after the certificate was not accepted", testutil.ToFloat64(dropped))
	}
}

// TestFailuresAreCountedAndLoggedOnce checks each kind of failure, of which only the first in a row is logged, and no secret.
func TestFailuresAreCountedAndLoggedOnce(t *testing.T) {
	c, dropped, log := newCollector(t, httptest.NewServer), newDropped(), &logged{}
	settings := settingsFor(t, c.Server)
	settings.endpoint.RawQuery = "key=canary"
	e := newExporter(settings, "v1", dropped, log.logger())
	failures := map[string]http.HandlerFunc{
		"500":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"404":      http.NotFound,
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, c.URL, http.StatusTemporaryRedirect) },
		"closed":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"rejected": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}`))
		},
	}
	lines, lost := 0, 0.0
	for name, answer := range failures {
		for range 2 {
			c.answers(answer)
			e.waiting.Add(2)
			if err := e.ExportSpans(t.Context(), spansNamed("a", "b")); err != nil {
				t.Error(err)
			}
			lost += 2
		}
		c.answers(nil)
		e.waiting.Add(1)
		if err := e.ExportSpans(t.Context(), spansNamed("c")); err != nil {
			t.Error(err)
		}
		lines += 2
		if n := testutil.ToFloat64(dropped); n != lost || len(log.all()) != lines || e.waiting.Load() != 0 {
			t.Errorf("%s: %v of %v are counted, %d wait, it says %q", name, n, lost, e.waiting.Load(), log.all())
		}
	}
	all := strings.Join(log.all(), "\n")
	if strings.Contains(all, "canary") {
		t.Error("the query of the URL is logged")
	}
	for _, want := range []string{"500 Internal Server Error", "404 Not Found", "307 Temporary Redirect", "EOF", "rejected 2 spans: too old", "takes spans again"} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q: %s", want, all)
		}
	}
}

func TestAnswers(t *testing.T) {
	for answer, want := range map[string]int{
		"": 0, "{}": 0, "ok": 0, `{"partialSuccess":{"rejectedSpans":"3"}}`: 3, `{"partialSuccess":{"rejectedSpans":3}}`: 3,
		`{"partialSuccess":{"rejectedSpans":"0","errorMessage":"a warning"}}`: 0, `{"partialSuccess":{"rejectedSpans":-1}}`: 0,
	} {
		if got, err := rejectedIn([]byte(answer)); got != want || (err != nil) != (want > 0) {
			t.Errorf("%s: %d, %v", answer, got, err)
		}
	}
}
