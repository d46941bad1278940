package tracing

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// serviceName is the name of the service, unless OTEL_SERVICE_NAME is set, and of what makes the spans.
const serviceName = "echo-operator"

// Tracer makes spans, and sends them in the background. The zero value makes none.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	log      logr.Logger
}

// New returns a tracer, the zero value if the settings say nowhere. Spans that cannot be sent are counted.
func New(settings Settings, version string, dropped prometheus.Counter, log logr.Logger) (Tracer, error) {
	if settings.endpoint == nil {
		return Tracer{}, nil
	}
	about, err := describe(version)
	if err != nil {
		return Tracer{}, err
	}
	// What the library cannot tell its caller goes to the log of the operator instead of to stderr as text.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "A setting of OpenTelemetry is not valid, or spans are lost.") }))
	exporter := newExporter(settings, version, dropped, log)
	// The library drops nothing, because what the exporter admits fits into its queue.
	batches := sdktrace.NewBatchSpanProcessor(exporter, sdktrace.WithMaxQueueSize(maxWaiting))
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithSpanProcessor(&admission{batches, exporter}))
	log.Info("Spans are sent to a collector.", "collector", settings.endpoint.Host)
	return Tracer{tracer: provider.Tracer(serviceName, trace.WithInstrumentationVersion(version)), provider: provider, log: log}, nil
}

// describe returns what the spans say about this process. The environment wins.
func describe(version string) (*resource.Resource, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	about, err := resource.New(context.Background(),
		resource.WithAttributes(
			attribute.String("service.name", serviceName), attribute.String("service.version", version), attribute.String("service.instance.id", host)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: it must be a list of name=value, separated by commas (%w)", err)
	}
	return about, nil
}

// Close sends what has not been sent, for a time at most. No span is sent afterwards.
func (t Tracer) Close(timeout time.Duration) {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Error(err, "The last spans were not sent.")
	}
}
