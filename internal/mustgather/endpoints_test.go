package mustgather

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/echo-operator/echo-operator/tests/support"
)

// forwarding returns an API server that forwards the ports of the pod home/manager-x to a server.
func forwarding(t *testing.T, target string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/home/pods/manager-x/portforward" {
			http.NotFound(w, r)
			return
		}
		support.ForwardPort(w, r, target)
	}))
	t.Cleanup(server.CloseClientConnections)
	return server
}

func TestReadEndpoints_usesPortForward(t *testing.T) {
	operator := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer of a pod" || r.URL.Path != "/metrics" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `echo_info{text="canary-4711"} 1`)
	}))
	defer operator.Close()
	g := fixture(t)
	g.config = &rest.Config{Host: forwarding(t, operator.Listener.Addr().String()).URL, BearerToken: "of a pod", BearerTokenFile: podToken}
	var err error
	if g.client, err = kubernetes.NewForConfig(&rest.Config{Host: g.config.Host}); err != nil {
		t.Fatal(err)
	}
	g.redactor.secret(canary)
	g.readEndpoints(t.Context())
	if text := content(t, g.folder, "namespaces/home/pods/manager-x/metrics.txt"); text != `echo_info{text="<redacted>"} 1` {
		t.Error("the metrics are", text)
	}
	g.config.BearerToken = "of another pod"
	g.readEndpoints(t.Context())
	if last := g.missed[len(g.missed)-1]; last.What != "the metrics of pods/manager-x in the namespace home" ||
		last.Why != "401 Unauthorized" {
		t.Errorf("the missed data is %+v", g.missed)
	}
}

func TestReadEndpoints_reportsUnreachablePod(t *testing.T) {
	g := fixture(t)
	g.config = &rest.Config{Host: forwarding(t, "").URL + "/elsewhere", BearerToken: "of a pod", BearerTokenFile: podToken}
	var err error
	if g.client, err = kubernetes.NewForConfig(&rest.Config{Host: g.config.Host}); err != nil {
		t.Fatal(err)
	}
	g.readEndpoints(t.Context())
	if last := g.missed[len(g.missed)-1]; !strings.Contains(last.What, "manager-x") || last.Why == "" {
		t.Errorf("the missed data is %+v", g.missed)
	}
}

func TestToken_requestedForMetricsAccount(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/api/v1/namespaces/monitoring/serviceaccounts/scraper/token" ||
			!strings.Contains(string(body), `"expirationSeconds":600`) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "status": {"token": "for ten minutes"}}`)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentType: "application/json"})
	if err != nil {
		t.Fatal(err)
	}
	g := &gatherer{config: &rest.Config{BearerToken: "of a person"}, client: client, metricsAccount: "monitoring/scraper"}
	if token, err := g.token(t.Context()); token != "for ten minutes" || err != nil {
		t.Errorf("the token is %q: %v", token, err)
	}
	g.metricsAccount = "monitoring/other"
	if token, err := g.token(t.Context()); token != "" || err == nil {
		t.Errorf("the token is %q: %v", token, err)
	}
}
