package requests

import (
	"context"
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

// Families maps names to metrics.
type Families map[string]*dto.MetricFamily

// Counts contains the number of requests for each combination of verb, resource, and code.
type Counts map[string]float64

// touched reports whether the operator can read or write a resource. Only the API server itself uses the other resources.
func touched(resource string) bool {
	switch resource {
	case "echoes", "pods", "nodes", "events", "leases", "apiservers":
		return true
	default:
		return slices.ContainsFunc(kinds.Table(), func(k kinds.Kind) bool { return k.Resource == resource })
	}
}

// Served returns the number of discovery requests and the number of requests for resources that the operator touches, according to the API
// server's metrics. A watch is counted only while it is open.
func Served(metrics Families) Counts {
	found := Counts{}
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

// isCounted reports whether a request counts. The benchmark's own requests, which list events and create Echoes, do not count.
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

// Since returns the requests that were counted after an earlier measurement.
func (c Counts) Since(before Counts) Counts {
	added := Counts{}
	for name, n := range c {
		if n > before[name] {
			added[name] = n - before[name]
		}
	}
	return added
}

// Sum returns the total of all counts whose names meet a condition.
func (c Counts) Sum(condition func(name string) bool) float64 {
	total := 0.0
	for name, n := range c {
		if condition(name) {
			total += n
		}
	}
	return total
}

// IsWork excludes requests for leases, which the API server and the operator continually renew.
func IsWork(name string) bool { return !strings.Contains(name, " leases") }

// IsConflict reports whether the response to a request was 409.
func IsConflict(name string) bool { return strings.HasSuffix(name, " 409") }

// IsEffective reports whether a request successfully writes an object other than an event or a lease.
func IsEffective(name string) bool {
	verb, rest, _ := strings.Cut(name, " ")
	read := verb == "GET" || verb == "LIST" || verb == "WATCH" || verb == "WATCHLIST"
	return !read && !strings.HasPrefix(rest, "events ") && !strings.HasPrefix(rest, "leases ") && strings.Contains(rest, " 20")
}

// Reconciles returns how often Echoes were reconciled.
func Reconciles(metrics Families) float64 {
	total := 0.0
	for _, m := range metrics["controller_runtime_reconcile_total"].GetMetric() {
		if labels(m)["controller"] == "echo" {
			total += m.GetCounter().GetValue()
		}
	}
	return total
}

// LiveHeap returns the number of bytes that were still in use after the last garbage collection. It calculates this number from GOGC and
// the heap size that triggers the next collection. The number is too low if a memory limit makes the next collection start earlier.
func LiveHeap(metrics Families) float64 {
	gogc := gauge(metrics, "go_gc_gogc_percent")
	return gauge(metrics, "go_memstats_next_gc_bytes") * 100 / (100 + gogc)
}

// gauge returns the value of a metric without labels, or 0 if the metric is missing.
func gauge(metrics Families, name string) float64 {
	for _, m := range metrics[name].GetMetric() {
		return m.GetGauge().GetValue()
	}
	return 0
}

// Scrape reads metrics. The token may be empty.
func Scrape(ctx context.Context, c *http.Client, url, token string) (Families, error) {
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

func parseMetrics(text io.Reader) (Families, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(text)
}

// Sent returns how many requests a process has sent, by method and code, according to its own metrics. POST requests include requests that
// create events, and SelfSubjectAccessReviews for clients that read the metrics.
func Sent(metrics Families) Counts {
	sent := Counts{}
	for _, m := range metrics["rest_client_requests_total"].GetMetric() {
		l := labels(m)
		sent[l["method"]+" "+l["code"]] += m.GetCounter().GetValue()
	}
	return sent
}

// IsAny matches all requests.
func IsAny(string) bool { return true }

// IsNoReview excludes POST requests, because reading the metrics causes reviews, which are POST requests.
func IsNoReview(request string) bool { return !strings.HasPrefix(request, "POST ") }

// IsWrite reports whether a request writes an object. It excludes POST requests, because an operator with nothing to write sends POST
// requests only for reviews.
func IsWrite(request string) bool { return IsNoReview(request) && !strings.HasPrefix(request, "GET ") }
