package tracing

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// maxWaiting is how many spans wait for the collector at most, in a few MB.
	maxWaiting = sdktrace.DefaultMaxQueueSize
	// maxAnswer is how many bytes of a response are read.
	maxAnswer = 64 << 10
)

// exporter sends spans to a collector by OTLP over HTTP, as JSON. Spans that the collector does not take are dropped: they are not worth memory.
type exporter struct {
	settings  Settings
	userAgent string
	client    *http.Client
	dropped   prometheus.Counter
	log       logr.Logger
	// waiting is the number of spans that were admitted, and neither sent nor dropped yet.
	waiting atomic.Int64
	// failing is true if the last request failed. Requests are sent one after the other.
	failing bool
}

func newExporter(settings Settings, version string, dropped prometheus.Counter, log logr.Logger) *exporter {
	return &exporter{
		settings:  settings,
		userAgent: serviceName + "/" + version,
		client: &http.Client{
			Timeout: settings.timeout,
			// A redirect could take the headers, which may be secret, to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy:           http.ProxyFromEnvironment,
				TLSClientConfig: &tls.Config{RootCAs: settings.authorities, MinVersion: tls.VersionTLS12},
			},
		},
		dropped: dropped,
		log:     log,
	}
}

// admission passes spans on to the processor of an exporter unless too many wait.
type admission struct {
	sdktrace.SpanProcessor
	exporter *exporter
}

// OnEnd implements sdktrace.SpanProcessor. It does not wait.
func (a *admission) OnEnd(s sdktrace.ReadOnlySpan) {
	if a.exporter.waiting.Add(1) > maxWaiting {
		a.exporter.waiting.Add(-1)
		a.exporter.dropped.Inc()
		return
	}
	a.SpanProcessor.OnEnd(s)
}

// ExportSpans implements sdktrace.SpanExporter. Failures are counted, and logged once until a request succeeds.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	defer e.waiting.Add(-int64(len(spans)))
	rejected, err := e.send(ctx, spans)
	e.dropped.Add(float64(rejected))
	switch {
	case err != nil && !e.failing:
		e.log.Error(err, "The collector does not take spans. They are dropped until it does.", "collector", e.settings.endpoint.Host)
	case err == nil && e.failing:
		e.log.Info("The collector takes spans again.", "collector", e.settings.endpoint.Host)
	}
	e.failing = err != nil
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// send sends spans, and returns how many of them the collector did not take.
func (e *exporter) send(ctx context.Context, spans []sdktrace.ReadOnlySpan) (rejected int, err error) {
	body, err := encode(spans)
	if err != nil {
		return len(spans), err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.settings.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return len(spans), err
	}
	request.Header.Set("User-Agent", e.userAgent)
	for name, value := range e.settings.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.client.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err // without the URL, whose query may be secret
	}
	if err != nil {
		return len(spans), err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode/100 != 2 {
		return len(spans), fmt.Errorf("the collector answered %s", response.Status)
	}
	if err != nil {
		return len(spans), err
	}
	return rejectedIn(answer)
}

// rejectedIn returns how many spans a collector says that it rejected, although it accepted the request.
func rejectedIn(answer []byte) (int, error) {
	said := struct {
		PartialSuccess struct {
			RejectedSpans json.Number
			ErrorMessage  string
		}
	}{}
	_ = json.Unmarshal(answer, &said) // collectors may answer anything, such as nothing at all
	rejected, _ := strconv.Atoi(said.PartialSuccess.RejectedSpans.String())
	if rejected <= 0 {
		return 0, nil
	}
	return rejected, fmt.Errorf("the collector rejected %d spans: %s", rejected, said.PartialSuccess.ErrorMessage)
}
