package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Attributes of a pass.
const (
	controllerKey = attribute.Key("echo_operator.controller")
	namespaceKey  = attribute.Key("echo_operator.namespace")
	nameKey       = attribute.Key("echo_operator.name")
	idKey         = attribute.Key("echo_operator.reconcile_id")
	generationKey = attribute.Key("echo_operator.generation")
	resultKey     = attribute.Key("echo_operator.result")
	errorKey      = attribute.Key("error.type")
)

// otherError is the type of an error without a reason.
const otherError = "_OTHER"

// Passes returns a reconciler that makes a span of each pass of another one: that itself if there are no traces.
func (t Tracer) Passes(controllerName string, next reconcile.Reconciler) reconcile.Reconciler {
	if t.tracer == nil {
		return next
	}
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		ctx, span := t.tracer.Start(ctx, "pass "+controllerName, trace.WithNewRoot(), trace.WithAttributes(
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

// resultOf names the result of a pass as controller-runtime's metrics do.
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

// SetGeneration says in the span of a pass, if there is one, which generation of an object the pass is about.
func SetGeneration(ctx context.Context, generation int64) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(generationKey.Int64(generation))
	}
}

// SetFailure says in the span of a pass, if there is one, that the pass failed, and the reason, which may be empty.
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
