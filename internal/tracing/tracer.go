package tracing

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// serviceName is the name of the tracer and, unless OTEL_SERVICE_NAME is set, of the service.
const serviceName = "echo-operator"

// Tracer creates spans, which are sent in the background. The zero value creates no spans.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	log      logr.Logger
}

// Enabled reports whether the environment names a collector and does not disable traces.
func Enabled(getenv func(string) string) bool {
	is := func(name, value string) bool { return strings.EqualFold(strings.TrimSpace(getenv(name)), value) }
	disabled := is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none")
	return !disabled && (!is("OTEL_EXPORTER_OTLP_ENDPOINT", "") || !is("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""))
}

// New returns a tracer, or the zero value if traces are disabled. The OpenTelemetry libraries read their settings from the environment
// themselves.
func New(enabled bool, version string, log logr.Logger) (Tracer, error) {
	if !enabled {
		return Tracer{}, nil
	}
	reportTo(log)
	about, err := describe(version)
	if err != nil {
		return Tracer{}, err
	}
	exporter, err := otlptracehttp.New(context.Background())
	if err != nil {
		return Tracer{}, fmt.Errorf("creating the trace exporter: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(exporter))
	return Tracer{tracer: provider.Tracer(serviceName, trace.WithInstrumentationVersion(version)), provider: provider, log: log}, nil
}

// reportTo makes the libraries log the errors that they cannot return. The log omits the values of settings, because headers may be secret.
func reportTo(log logr.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Error(err, "Spans are lost, or an OpenTelemetry setting is invalid.")
	}))
	otel.SetLogger(funcr.New(func(_, problem string) { log.Info("An OpenTelemetry setting is invalid.", "problem", problem) },
		funcr.Options{RenderArgsHook: func([]any) []any { return nil }}))
}

// describe returns the attributes that describe this process in its spans. Attributes from the environment take precedence.
func describe(version string) (*resource.Resource, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	about, err := resource.New(context.Background(),
		resource.WithAttributes(
			attribute.String("service.name", serviceName), attribute.String("service.version", version),
			attribute.String("service.instance.id", host)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: it must be a comma-separated list of name=value pairs (%w)", err)
	}
	return about, nil
}

// Close sends the remaining spans within a timeout. No spans are sent afterward.
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
