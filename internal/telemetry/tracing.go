package telemetry

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Tracer creates spans of reconciles, which are sent in the background. A nil Tracer creates no spans.
type Tracer struct{ *sdktrace.TracerProvider }

// NewTracer returns a tracer that is configured by OpenTelemetry's environment variables.
func NewTracer(version string, log logr.Logger) (*Tracer, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Spans are lost, or an OpenTelemetry setting is invalid.") }))
	otel.SetLogger(funcr.New(func(_, problem string) { log.Info("An OpenTelemetry setting is invalid.", "problem", problem) },
		funcr.Options{RenderArgsHook: func([]any) []any { return nil }})) // omits the values of settings, because headers may be secret
	about, err := resource.New(context.Background(), resource.WithHost(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "echo-operator"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: it must be a comma-separated list of name=value pairs (%w)", err)
	}
	exporter, err := otlptracehttp.New(context.Background())
	return &Tracer{sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(exporter))}, err
}

// Reconciler returns a reconciler that creates a span for each reconcile of next. If traces are disabled, it returns next itself.
func (t *Tracer) Reconciler(name string, next reconcile.Reconciler) reconcile.Reconciler {
	if t == nil {
		return next
	}
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		ctx, span := t.Tracer("echo-operator").Start(ctx, "reconcile "+name, trace.WithAttributes(
			attribute.String("echo_operator.controller", name), attribute.String("echo_operator.namespace", r.Namespace),
			attribute.String("echo_operator.name", r.Name),
			attribute.String("echo_operator.reconcile_id", string(controller.ReconcileIDFromContext(ctx)))))
		defer span.End()
		return next.Reconcile(ctx, r)
	})
}

// SetSpanFailure marks the reconcile's span, if there is one, as failed. The reason may be empty.
func SetSpanFailure(ctx context.Context, reason string, err error) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attribute.String("error.type", cmp.Or(reason, "_OTHER")))
		span.SetStatus(codes.Error, err.Error())
	}
}
