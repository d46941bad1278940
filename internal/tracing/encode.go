package tracing

import (
	"encoding/json"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The types below are the parts of an ExportTraceServiceRequest that the operator's spans have, in OTLP's JSON encoding:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. 64-bit integers are strings in it.
type exportRequest struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   attributes   `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
	SchemaURL  string       `json:"schemaUrl,omitempty"`
}

type attributes struct {
	Attributes []keyValue `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type span struct {
	TraceID           string     `json:"traceId"`
	SpanID            string     `json:"spanId"`
	ParentSpanID      string     `json:"parentSpanId,omitempty"`
	Flags             uint32     `json:"flags"`
	Name              string     `json:"name"`
	Kind              int        `json:"kind"`
	StartTimeUnixNano string     `json:"startTimeUnixNano"`
	EndTimeUnixNano   string     `json:"endTimeUnixNano"`
	Attributes        []keyValue `json:"attributes"`
	Status            status     `json:"status"`
}

type keyValue struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	String *string `json:"stringValue,omitempty"`
	Int    *string `json:"intValue,omitempty"`
}

type status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// statusError is the code of OTLP, which is not that of the library.
const statusError = 2

// encode returns the body of a request with the spans of one tracer, of which there is at least one.
func encode(all []sdktrace.ReadOnlySpan) ([]byte, error) {
	about, made := all[0].Resource(), all[0].InstrumentationScope()
	spans := make([]span, len(all))
	for i, s := range all {
		spans[i] = encodeSpan(s)
	}
	return json.Marshal(exportRequest{[]resourceSpans{{
		Resource:   attributes{encodeAttributes(about.Attributes())},
		ScopeSpans: []scopeSpans{{Scope: scope{made.Name, made.Version}, Spans: spans}},
		SchemaURL:  about.SchemaURL(),
	}}})
}

func encodeSpan(s sdktrace.ReadOnlySpan) span {
	encoded := span{
		TraceID:           s.SpanContext().TraceID().String(),
		SpanID:            s.SpanContext().SpanID().String(),
		Flags:             uint32(s.SpanContext().TraceFlags()),
		Name:              s.Name(),
		Kind:              int(s.SpanKind()), // those of the library are numbered as those of OTLP
		StartTimeUnixNano: nanoseconds(s.StartTime()),
		EndTimeUnixNano:   nanoseconds(s.EndTime()),
		Attributes:        encodeAttributes(s.Attributes()),
	}
	if s.Parent().HasSpanID() {
		encoded.ParentSpanID = s.Parent().SpanID().String()
	}
	if s.Status().Code == codes.Error {
		encoded.Status = status{statusError, s.Status().Description}
	}
	return encoded
}

// encodeAttributes returns attributes. All but integers are written as text.
func encodeAttributes(all []attribute.KeyValue) []keyValue {
	encoded := make([]keyValue, len(all))
	for i, a := range all {
		text := a.Value.String()
		encoded[i] = keyValue{string(a.Key), value{String: &text}}
		if a.Value.Type() == attribute.INT64 {
			encoded[i].Value = value{Int: &text}
		}
	}
	return encoded
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
