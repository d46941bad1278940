// Package collector implements an OpenTelemetry collector for tests. It stores requests received over OTLP/HTTP with protobuf encoding.
package collector

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector stores the requests and spans that it receives.
type Collector struct {
	*httptest.Server
	respond http.HandlerFunc

	lock     sync.Mutex
	requests []*http.Request
	spans    []*tracepb.Span
}

// New returns a collector that has not started yet. The collector stores each request, and then calls the given function to respond. If the
// function is nil, the collector responds with 200.
func New(respond http.HandlerFunc) *Collector {
	c := &Collector{respond: respond}
	c.Server = httptest.NewUnstartedServer(c)
	return c
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	export := &collectorpb.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(body, export)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.keep(r, export)
	if c.respond != nil {
		c.respond(w, r)
	}
}

func (c *Collector) keep(r *http.Request, export *collectorpb.ExportTraceServiceRequest) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.requests = append(c.requests, r)
	for _, resource := range export.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// Requests returns the requests received so far.
func (c *Collector) Requests() []*http.Request {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Clone(c.requests)
}

// Spans returns the spans from all requests.
func (c *Collector) Spans() []*tracepb.Span {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Clone(c.spans)
}

// Attributes returns the attributes by key, with the values as text.
func Attributes(list []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		if number, ok := a.GetValue().GetValue().(*commonpb.AnyValue_IntValue); ok {
			all[a.GetKey()] = strconv.FormatInt(number.IntValue, 10)
		} else {
			all[a.GetKey()] = a.GetValue().GetStringValue()
		}
	}
	return all
}
