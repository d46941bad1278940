package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// These are the attributes of a reconcile's span.
const (
	controllerKey = attribute.Key("echo_operator.controller")
	namespaceKey  = attribute.Key("echo_operator.namespace")
	nameKey       = attribute.Key("echo_operator.name")
	idKey         = attribute.Key("echo_operator.reconcile_id")
	generationKey = attribute.Key("echo_operator.generation")
	resultKey     = attribute.Key("echo_operator.result")
	errorKey      = attribute.Key("error.type")
)

// otherError is the error type that a span reports for an error without a reason.
const otherError = "_OTHER"

// Reconciler returns a reconciler that creates a span for each reconcile of next. If traces are disabled, it returns next itself.
func (t Tracer) Reconciler(controllerName string, next reconcile.Reconciler) reconcile.Reconciler {
	if t.tracer == nil {
		return next
	}
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		ctx, span := t.tracer.Start(ctx, "reconcile "+controllerName, trace.WithNewRoot(), trace.WithAttributes(
			controllerKey.String(controllerName), namespaceKey.String(request.Namespace), nameKey.String(request.Name),
			idKey.String(string(controller.ReconcileIDFromContext(ctx)))))
		defer span.End()
		result, err := next.Reconcile(ctx, request)
		span.SetAttributes(resultKey.String(resultOf(result, err)))
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		return result, err
	})
}

// resultOf returns the name that controller-runtime's metrics use for the result of a reconcile.
func resultOf(result reconcile.Result, err error) string {
	switch {
	case err != nil:
		return "error"
	case result.RequeueAfter > 0:
		return "requeue_after"
	default:
		return "success"
	}
}

// SetGeneration adds the generation of the reconciled object to the reconcile's span, if there is one.
func SetGeneration(ctx context.Context, generation int64) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(generationKey.Int64(generation))
	}
}

// SetFailure marks the reconcile's span, if there is one, as failed. The reason may be empty.
func SetFailure(ctx context.Context, reason string, err error) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if reason == "" {
		reason = otherError
	}
	span.SetAttributes(errorKey.String(reason))
	span.SetStatus(codes.Error, err.Error())
}
