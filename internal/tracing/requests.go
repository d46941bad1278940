package tracing

import (
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/echo-operator/echo-operator/internal/monitoring"
)

// These are the attributes of a request's span. Verb and resource have the same values as in the request metric.
const (
	verbKey     = attribute.Key("echo_operator.verb")
	resourceKey = attribute.Key("echo_operator.resource")
	methodKey   = attribute.Key("http.request.method")
	codeKey     = attribute.Key("http.response.status_code")
	pathKey     = attribute.Key("url.path")
)

// Wrap returns a transport that sends requests through next and creates a span for each request of a reconcile. If traces are disabled, it
// returns next itself. Watches and lease requests do not belong to a reconcile, so they get no spans.
func (t Tracer) Wrap(next http.RoundTripper) http.RoundTripper {
	if t.tracer == nil {
		return next
	}
	return &tracedRequests{next, t.tracer}
}

type tracedRequests struct {
	next   http.RoundTripper
	tracer trace.Tracer
}

// RoundTrip implements http.RoundTripper.
func (t *tracedRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanFromContext(r.Context()).IsRecording() {
		return t.next.RoundTrip(r)
	}
	verb, resource := monitoring.OperationOf(r)
	_, span := t.tracer.Start(r.Context(), verb+" "+resource, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		verbKey.String(verb), resourceKey.String(resource), methodKey.String(r.Method), pathKey.String(r.URL.Path)))
	defer span.End()
	response, err := t.next.RoundTrip(r)
	if err != nil {
		span.SetAttributes(errorKey.String(otherError))
		span.SetStatus(codes.Error, err.Error())
		return response, err
	}
	span.SetAttributes(codeKey.Int(response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		span.SetAttributes(errorKey.String(strconv.Itoa(response.StatusCode)))
		span.SetStatus(codes.Error, response.Status)
	}
	return response, nil
}

// WrappedRoundTripper implements RoundTripperWrapper from k8s.io/apimachinery/pkg/util/net.
func (t *tracedRequests) WrappedRoundTripper() http.RoundTripper { return t.next }
