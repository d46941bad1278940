package tracing

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// TestEncoding compares a request with the example of the specification:
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/examples/trace.json.
func TestEncoding(t *testing.T) {
	context := func(span byte) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0x5b, 0x8e}, SpanID: trace.SpanID{0xee, span}, TraceFlags: trace.FlagsSampled})
	}
	from := time.Unix(1544712660, 1)
	got, err := encode(tracetest.SpanStubs{{
		Name: "patch deployments", SpanKind: trace.SpanKindClient, SpanContext: context(2), Parent: context(1),
		StartTime: from, EndTime: from.Add(time.Second),
		Attributes:           []attribute.KeyValue{codeKey.Int(409), verbKey.String(`"patch"`), attribute.Bool("b", true)},
		Status:               tracetest.SpanStub{}.Status,
		Resource:             resource.NewSchemaless(attribute.String("service.name", "echo-operator")),
		InstrumentationScope: instrumentation.Scope{Name: "echo-operator", Version: "v1"},
	}, {Name: "pass echo", SpanKind: trace.SpanKindInternal, SpanContext: context(1), StartTime: from, EndTime: from}}.Snapshots())
	const want = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"echo-operator"}}]},` +
		`"scopeSpans":[{"scope":{"name":"echo-operator","version":"v1"},"spans":[` +
		`{"traceId":"5b8e0000000000000000000000000000","spanId":"ee02000000000000","parentSpanId":"ee01000000000000","flags":1,` +
		`"name":"patch deployments","kind":3,"startTimeUnixNano":"1544712660000000001","endTimeUnixNano":"1544712661000000001","attributes":[` +
		`{"key":"http.response.status_code","value":{"intValue":"409"}},{"key":"echo_operator.verb","value":{"stringValue":"\"patch\""}},` +
		`{"key":"b","value":{"stringValue":"true"}}],"status":{}},` +
		`{"traceId":"5b8e0000000000000000000000000000","spanId":"ee01000000000000","flags":1,"name":"pass echo","kind":1,` +
		`"startTimeUnixNano":"1544712660000000001","endTimeUnixNano":"1544712660000000001","attributes":[],"status":{}}]}]}]}`
	if err != nil || string(got) != want {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, got, want)
	}
}

// TestErrorsHaveTheNumberOfTheProtocol checks the one number in which the library and the protocol differ.
func TestErrorsHaveTheNumberOfTheProtocol(t *testing.T) {
	failed := tracetest.SpanStub{}
	failed.Status.Code, failed.Status.Description = codes.Error, "refused"
	if got := encodeSpan(failed.Snapshot()).Status; got != (status{2, "refused"}) {
		t.Errorf("got %+v", got)
	}
}
