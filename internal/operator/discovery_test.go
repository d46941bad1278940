package operator

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// cluster returns a cluster that serves Route and Gate, but responds to the first requests with the statuses for their paths.
func cluster(t *testing.T, statuses map[string]int, until int) *discoverer {
	t.Helper()
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		requests++
		if status := statuses[r.URL.Path]; status != 0 && requests <= until {
			w.WriteHeader(status)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/v1") {
			_, _ = fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1", "resources": [
				{"name": "routes", "kind": "Route", "namespaced": true, "verbs": ["list"]},
				{"name": "gates", "kind": "Gate", "namespaced": true, "verbs": ["list"]}]}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": []}`)
	}))
	t.Cleanup(server.Close)
	asked, err := newDiscoverer(&rest.Config{Host: server.URL, QPS: -1})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return asked
}

func TestAsk(t *testing.T) {
	const api = "/apis/example.com/v1"
	const inA, inB, gates = api + "/namespaces/a/routes", api + "/namespaces/b/routes", api + "/gates"
	kinds := []optionalKind{{route(), []string{"a", "b"}}, {gate(), []string{""}}}
	for name, c := range map[string]struct {
		statuses    map[string]int
		route, gate access
		failed      bool
	}{
		"all is served":                        {nil, usable, usable, false},
		"the API is not served":                {map[string]int{api: 404}, notServed, notServed, false},
		"the API gives no response":            {map[string]int{api: 503}, unknown, unknown, true},
		"forbidden in one namespace":           {map[string]int{inB: 403}, forbidden, usable, false},
		"forbidden in all":                     {map[string]int{inA: 403, inB: 403, gates: 403}, forbidden, forbidden, false},
		"one kind cannot be listed":            {map[string]int{inA: 500}, unknown, usable, true},
		"a kind vanishes between two requests": {map[string]int{gates: 404}, usable, unknown, true},
	} {
		offer, err := cluster(t, c.statuses, 1000).ask(t.Context(), kinds)
		if offer[route()].access != c.route || offer[gate()].access != c.gate || c.failed != (err != nil) {
			t.Errorf("%s: got %v, %v", name, offer, err)
		}
		refused := offer.refused(route().GroupVersion())
		if used := offer.usable(route().GroupVersion()); used["Route"] != (c.route == usable) ||
			(refused["Route"] != "") != (c.route == forbidden || c.route == unknown) {
			t.Errorf("%s: %v are usable, %v refused", name, used, refused)
		}
	}
	missing := optionalKind{GroupVersionKind: route().GroupVersion().WithKind("Other")}
	offer, err := cluster(t, map[string]int{gates: 500}, 1000).ask(t.Context(), []optionalKind{kinds[1], missing})
	if err == nil || offer[missing.GroupVersionKind].access != notServed {
		t.Errorf("a kind that the API lacks is %v, %v", offer, err)
	}
}

func TestAskUntilKnown_limitsRetries(t *testing.T) {
	retry := wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 3}
	for failures, want := range map[int]access{2: usable, 3: unknown} {
		asked := cluster(t, map[string]int{"/apis/example.com/v1": 503}, failures)
		offer, err := asked.askUntilKnown(t.Context(), []optionalKind{{GroupVersionKind: route()}}, retry)
		if offer[route()].access != want || (err != nil) != (want == unknown) {
			t.Errorf("after %d failures: %v, %v", failures, offer, err)
		}
	}
}

func TestAskUntilKnown_retriesForbidden(t *testing.T) {
	retry := wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 5}
	for requests, want := range map[int]access{2: usable, 4: forbidden} { // each attempt sends two requests: one for the API, one for the kind
		asked := cluster(t, map[string]int{"/apis/example.com/v1/routes": 403}, requests)
		offer, err := asked.askUntilKnown(t.Context(), []optionalKind{{route(), []string{""}}}, retry)
		if offer[route()].access != want || err != nil {
			t.Errorf("forbidden in %d requests: %v, %v", requests, offer, err)
		}
	}
}
