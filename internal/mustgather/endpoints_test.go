package mustgather

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/echo-operator/echo-operator/tests/support"
)

func TestReadEndpoints_usesPortForward(t *testing.T) {
	operator := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer of a pod" || r.URL.Path != "/metrics" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `echo_info{text="canary-4711"} 1`)
	}))
	defer operator.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/home/pods/manager-x/portforward" {
			http.NotFound(w, r)
			return
		}
		support.ForwardPort(w, r, operator.Listener.Addr().String())
	}))
	t.Cleanup(api.CloseClientConnections)
	g := fixture(t)
	g.config = &rest.Config{Host: api.URL, BearerToken: "of a pod", BearerTokenFile: podToken}
	var err error
	if g.client, err = kubernetes.NewForConfig(&rest.Config{Host: g.config.Host}); err != nil {
		t.Fatal(err)
	}
	g.redactor.secret(canary)
	g.operatorNamespace = "home"
	g.keep(pods)(parsed(t, `{kind: Pod, metadata: {namespace: shop, name: pretender, labels: {app.kubernetes.io/name: echo-operator}}}`))
	g.readEndpoints(t.Context())
	if len(g.missed) > 0 {
		t.Errorf("a pod in another namespace: the missed data is %+v", g.missed)
	}
	if text := content(t, g.folder, "namespaces/home/pods/manager-x/metrics.txt"); text != `echo_info{text="<redacted>"} 1` {
		t.Error("the metrics are", text)
	}
	g.config.BearerToken = "of another pod"
	g.readEndpoints(t.Context())
	if last := g.missed[len(g.missed)-1]; last != "the metrics of pods/manager-x in the namespace home: 401 Unauthorized\n" {
		t.Errorf("the missed data is %+v", g.missed)
	}
	if g.client, err = kubernetes.NewForConfig(&rest.Config{Host: api.URL + "/elsewhere"}); err != nil {
		t.Fatal(err)
	}
	g.readEndpoints(t.Context())
	if last := g.missed[len(g.missed)-1]; len(g.missed) != 2 || strings.HasSuffix(last, ": 401 Unauthorized\n") {
		t.Errorf("an unreachable pod: the missed data is %+v", g.missed)
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

// TestReadLogs reads two Echoes from separate pages of a list: one runs the operator's echo server, and the other runs another image. The
// log also contains a value of an Echo in a namespace that is not requested.
func TestReadLogs(t *testing.T) {
	echo := `{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"namespace": "team", "name": %q},
		"spec": {"image": %q, "args": ["canary-4711"]}, "status": {"phase": "Ready"}}`
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team", "name": "%[1]s-x",
		"labels": {"app.kubernetes.io/instance": %[1]q}}, "status": {"containerStatuses": [
		{"name": "echo", "restartCount": %[2]d, "state": {"running": {}}}, {"name": "waiting", "state": {"waiting": {}}},
		{"name": "istio-proxy", "restartCount": 1, "state": {"running": {}}}]}}`
	list := func(w http.ResponseWriter, next string, items ...string) {
		_, _ = fmt.Fprintf(w, `{"kind": "List", "apiVersion": "v1", "metadata": {"continue": %q}, "items": [%s]}`, next, strings.Join(items, ","))
	}
	output, folder, err := gathered(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch path := r.URL.Path; {
		case path == "/version":
			version136(w)
		case path == "/apis/example.com/v1/echoes":
			list(w, "", strings.NewReplacer("4711", "0815", "team", "elsewhere").Replace(fmt.Sprintf(echo, "foreign", "")))
		case path == "/apis/example.com/v1/namespaces/team/echoes" && query.Get("continue") == "":
			list(w, "more", fmt.Sprintf(echo, "own", ""))
		case path == "/apis/example.com/v1/namespaces/team/echoes":
			list(w, "", fmt.Sprintf(echo, "other", "quay.io/other"))
		case path == "/api/v1/namespaces/team/pods" && query.Get("labelSelector") == childrenSelector:
			list(w, "", fmt.Sprintf(pod, "own", 1), fmt.Sprintf(pod, "other", 1), fmt.Sprintf(pod, "unknown", 0))
		case path == "/api/v1/namespaces/team/pods/own-x/log" && query.Get("container") == "echo" && query.Get("tailLines") == "200":
			_, _ = fmt.Fprintf(w, "previous=%s: canary-4711 canary-0815", query.Get("previous"))
		case strings.HasSuffix(path, "/log"):
			t.Errorf("%s was requested", r.URL)
		default:
			list(w, "")
		}
	}, "--namespace=team")
	if err != nil {
		t.Fatal(err, output)
	}
	for file, want := range map[string]string{"current.log": "previous=: <redacted> <redacted>", "previous.log": "previous=true: <redacted> <redacted>"} {
		if got := content(t, folder, filepath.Join("namespaces/team/pods/own-x/echo/echo/logs", file)); got != want {
			t.Errorf("%s has %q", file, got)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "namespaces/team/pods/other-x")); err == nil {
		t.Error("the log of another image was read")
	}
	if !strings.Contains(output, "  2 Echoes\n") || !strings.Contains(output, "of 1 of 1 pods with the operator's echo server") {
		t.Error("the output is", output)
	}
}

// fixture returns a gatherer that has found a pod of the operator.
func fixture(t *testing.T) *gatherer {
	t.Helper()
	g := &gatherer{folder: t.TempDir(), version: "dev", out: io.Discard, redactor: rules(t), found: map[string][]object{}}
	g.keep(pods)(parsed(t, `{kind: Pod, metadata: {namespace: home, name: manager-x, labels: {app.kubernetes.io/name: echo-operator}}}`))
	return g
}

func TestFinish_reportsWriteErrors(t *testing.T) {
	g := fixture(t)
	g.write("namespaces", "a file in place of a directory")
	if err := g.finish(); err == nil || !strings.Contains(err.Error(), "namespaces") {
		t.Error("the error is", err)
	}
	content(t, g.folder, "not-read.txt")
}
