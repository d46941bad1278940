package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/echo-operator/echo-operator/internal/kinds"
)

// families are metrics by name.
type families map[string]*dto.MetricFamily

// counts are numbers of requests, by verb, resource and code.
type counts map[string]float64

// touched are the resources that an operator may read or write. The API server itself reads and writes others.
func touched(resource string) bool {
	switch resource {
	case "echoes", "pods", "nodes", "events", "leases", "apiservers":
		return true
	default:
		return slices.ContainsFunc(kinds.Table(), func(k kinds.Kind) bool { return k.Resource == resource })
	}
}

// requestCounts returns the requests for what an operator touches, and for discovery. A watch is counted while it is open.
func requestCounts(metrics families) counts {
	found := counts{}
	for _, m := range metrics["apiserver_request_total"].GetMetric() {
		l := labels(m)
		if isCounted(l) && l["verb"] != "WATCH" {
			found[l["verb"]+" "+object(l)+" "+l["code"]] += m.GetCounter().GetValue()
		}
	}
	for _, m := range metrics["apiserver_longrunning_requests"].GetMetric() {
		if l := labels(m); isCounted(l) {
			found["WATCH "+object(l)] += m.GetGauge().GetValue()
		}
	}
	return found
}

// isCounted leaves out what the benchmark does: it lists events and creates Echoes.
func isCounted(l map[string]string) bool {
	switch {
	case l["resource"] == "":
		return strings.HasPrefix(l["subresource"], "api") // discovery
	case l["resource"] == "events" && l["verb"] == "LIST", l["resource"] == "echoes" && l["verb"] == "POST":
		return false
	default:
		return touched(l["resource"])
	}
}

func object(l map[string]string) string {
	switch {
	case l["resource"] == "":
		return l["subresource"]
	case l["subresource"] == "":
		return l["resource"]
	default:
		return l["resource"] + "/" + l["subresource"]
	}
}

func labels(m *dto.Metric) map[string]string {
	values := map[string]string{}
	for _, pair := range m.GetLabel() {
		values[pair.GetName()] = pair.GetValue()
	}
	return values
}

// since returns what was added after an earlier count.
func (c counts) since(before counts) counts {
	added := counts{}
	for name, n := range c {
		if n > before[name] {
			added[name] = n - before[name]
		}
	}
	return added
}

// sum adds up the numbers whose name satisfies a condition.
func (c counts) sum(condition func(name string) bool) float64 {
	total := 0.0
	for name, n := range c {
		if condition(name) {
			total += n
		}
	}
	return total
}

// isWork reports whether a request is for Echoes. Leases are renewed all the time, that of the API server, too.
func isWork(name string) bool { return !strings.Contains(name, " leases") }

// isConflict reports whether a request was answered by 409.
func isConflict(name string) bool { return strings.HasSuffix(name, " 409") }

// isEffective reports whether a request is a write that succeeded, other than one for an event.
func isEffective(name string) bool {
	verb, rest, _ := strings.Cut(name, " ")
	read := verb == "GET" || verb == "LIST" || verb == "WATCH" || verb == "WATCHLIST"
	return !read && !strings.HasPrefix(rest, "events ") && !strings.HasPrefix(rest, "leases ") && strings.Contains(rest, " 20")
}

// passes returns how often Echoes were reconciled.
func passes(metrics families) float64 {
	total := 0.0
	for _, m := range metrics["controller_runtime_reconcile_total"].GetMetric() {
		if labels(m)["controller"] == "echo" {
			total += m.GetCounter().GetValue()
		}
	}
	return total
}

// liveHeap returns the number of bytes that the last garbage collection left, as the Go runtime tells it: the next one begins when the heap
// has grown by GOGC percent, unless a memory limit brings it forward.
func liveHeap(metrics families) float64 {
	gogc := gauge(metrics, "go_gc_gogc_percent")
	return gauge(metrics, "go_memstats_next_gc_bytes") * 100 / (100 + gogc)
}

// gauge returns the value of a metric without labels, 0 if there is none.
func gauge(metrics families, name string) float64 {
	for _, m := range metrics[name].GetMetric() {
		return m.GetGauge().GetValue()
	}
	return 0
}

// apiServerMetrics returns the metrics of the API server.
func (p *controlPlane) apiServerMetrics(ctx context.Context) (families, error) {
	return scrape(ctx, p.http, p.url+"/metrics", "")
}

// metricsOf returns the metrics of an operator: over HTTPS with a token.
func (p *controlPlane) metricsOf(ctx context.Context, g *program) (families, error) {
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} // its certificate is self-signed
	return scrape(ctx, trusting, "https://"+g.metrics+"/metrics", p.token)
}

func scrape(ctx context.Context, c *http.Client, url, token string) (families, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return parseMetrics(response.Body)
}

func parseMetrics(text io.Reader) (families, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(text)
}
