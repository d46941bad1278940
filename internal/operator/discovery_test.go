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

// cluster returns a cluster that serves Route and Gate. It responds to the first requests with the HTTP statuses that are given for their
// paths.
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
		"all is served":                        {nil, Usable, Usable, false},
		"the API is not served":                {map[string]int{api: 404}, NotServed, NotServed, false},
		"the API gives no response":            {map[string]int{api: 503}, Unknown, Unknown, true},
		"forbidden in one namespace":           {map[string]int{inB: 403}, Forbidden, Usable, false},
		"forbidden in all":                     {map[string]int{inA: 403, inB: 403, gates: 403}, Forbidden, Forbidden, false},
		"one kind cannot be listed":            {map[string]int{inA: 500}, Unknown, Usable, true},
		"a kind vanishes between two requests": {map[string]int{gates: 404}, Usable, Unknown, true},
	} {
		offer, err := cluster(t, c.statuses, 1000).Ask(t.Context(), kinds)
		if offer[route()].access != c.route || offer[gate()].access != c.gate || c.failed != (err != nil) {
			t.Errorf("%s: got %v, %v", name, offer, err)
		}
		refused := offer.Refused(route().GroupVersion())
		if usable := offer.Usable(route().GroupVersion()); usable["Route"] != (c.route == Usable) ||
			(refused["Route"] != "") != (c.route == Forbidden || c.route == Unknown) {
			t.Errorf("%s: %v are usable, %v refused", name, usable, refused)
		}
	}
	missing := optionalKind{GroupVersionKind: route().GroupVersion().WithKind("Other")}
	if offer, err := cluster(t, nil, 0).Ask(t.Context(), []optionalKind{missing}); err != nil || offer[missing.GroupVersionKind].access != NotServed {
		t.Errorf("a kind that the API lacks is %v, %v", offer, err)
	}
}

func TestAskUntilKnown_limitsRetries(t *testing.T) {
	retry := wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 3}
	for failures, want := range map[int]access{2: Usable, 3: Unknown} {
		asked := cluster(t, map[string]int{"/apis/example.com/v1": 503}, failures)
		offer, err := asked.AskUntilKnown(t.Context(), []optionalKind{{GroupVersionKind: route()}}, retry)
		if offer[route()].access != want || (err != nil) != (want == Unknown) {
			t.Errorf("after %d failures: %v, %v", failures, offer, err)
		}
	}
}

func TestAskUntilKnown_retriesForbidden(t *testing.T) {
	retry := wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 5}
	for requests, want := range map[int]access{2: Usable, 4: Forbidden} { // each attempt sends two requests: one for the API, one for the kind
		asked := cluster(t, map[string]int{"/apis/example.com/v1/routes": 403}, requests)
		offer, err := asked.AskUntilKnown(t.Context(), []optionalKind{{route(), []string{""}}}, retry)
		if offer[route()].access != want || err != nil {
			t.Errorf("forbidden in %d requests: %v, %v", requests, offer, err)
		}
	}
}
