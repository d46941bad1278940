package mustgather

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// gathered runs the program with a kubeconfig for a server, and returns the output and the directory with the files.
func gathered(t *testing.T, handler http.HandlerFunc, arguments ...string) (output, folder string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		handler(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}",
		server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	folder = filepath.Join(t.TempDir(), "out")
	out := &bytes.Buffer{}
	err = Run(t.Context(), "dev", append(arguments, "--dest-dir="+folder), func(string) string { return "" }, out)
	return out.String(), folder, err
}

func content(t *testing.T, folder, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const version136Text = `{"gitVersion": "v1.36.3"}`

func version136(w http.ResponseWriter) { _, _ = w.Write([]byte(version136Text)) }

func TestRun_continuesAfterFailedRequests(t *testing.T) {
	output, folder, err := gathered(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			version136(w)
		case "/apis/example.com/v1/echoes":
			_, _ = w.Write(
				[]byte(`{"kind": "EchoList", "apiVersion": "example.com/v1", "items": [{"metadata": {"namespace": "team", "name": "web"}}]}`))
		default:
			http.Error(w, "out of order", http.StatusNotImplemented)
		}
	})
	if err != nil {
		t.Fatal(err, output)
	}
	if text := content(t, folder, "kubernetes-version.json"); text != version136Text {
		t.Error("the version of Kubernetes is", text)
	}
	if text := content(t, folder, "namespaces/team/example.com/echoes.yaml"); !strings.Contains(text, "name: web") {
		t.Error("the Echo is missing:", text)
	}
	missed := content(t, folder, "not-read.txt")
	for _, want := range []string{"pods", "deployments.apps", "deployments.apps/web in the namespace team", "events.events.k8s.io",
		"subscriptions.operators.coreos.com", "customresourcedefinitions.apiextensions.k8s.io/echoes.example.com"} {
		if !strings.Contains(missed, want+": ") || !strings.Contains(output, "could not read "+want+": ") {
			t.Errorf("no message reports that %s could not be read:\n%s", want, missed)
		}
	}
}

func TestRun_reportsRequestTimeout(t *testing.T) {
	_, folder, err := gathered(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			version136(w)
			return
		}
		<-r.Context().Done()
	}, "--timeout=1s")
	if err != nil {
		t.Fatal(err)
	}
	if missed := content(t, folder, "not-read.txt"); !strings.Contains(missed, context.DeadlineExceeded.Error()) {
		t.Error("the timeout is not reported:", missed)
	}
}

func TestRun_writesNothingWithoutAPIServer(t *testing.T) {
	_, folder, err := gathered(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) },
		"--timeout=1s")
	if err == nil || !strings.Contains(err.Error(), "does not respond") {
		t.Error("the error is", err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the directory was created")
	}
}

func TestRun_rejectsUnknownArguments(t *testing.T) {
	for _, argument := range []string{"logs", "--follow"} {
		if err := Run(t.Context(), "dev", []string{argument}, func(string) string { return "" }, &bytes.Buffer{}); err == nil ||
			!strings.Contains(err.Error(), "unknown") {
			t.Errorf("%s: %v", argument, err)
		}
	}
}

func TestParse_usesMustGatherFolderInPod(t *testing.T) {
	o, err := parse("dev", nil, func(string) string { return "10.0.0.1" }, io.Discard)
	if err != nil || o.folder != "/must-gather" || o.timeout < time.Minute {
		t.Errorf("the options are %+v: %v", o, err)
	}
}

func TestIsAbout(t *testing.T) {
	names := map[string]bool{"team/web": true}
	for event, want := range map[string]bool{
		"{kind: Echo, namespace: team, name: web}":                                true,
		"{kind: Pod, namespace: team, name: web-7c9f-x2x4k}":                      true,
		"{kind: ReplicaSet, namespace: team, name: web-7c9f}":                     true,
		"{kind: Pod, namespace: team, name: web-frontend-7c9f-x2x4k}":             false,
		"{kind: Pod, namespace: other, name: web-7c9f-x2x4k}":                     false,
		"{kind: Deployment, namespace: team, name: web-frontend}":                 false,
		"{kind: ReplicaSet, namespace: team, name: webber}":                       false,
		"{kind: Pod, namespace: team, name: web-7c9f-x2x4k-of-something-else-it}": false,
	} {
		if got := isAbout(names, *parsed(t, "regarding: "+event)); got != want {
			t.Errorf("%s: %t", event, got)
		}
	}
}

func TestToken_neverUsesPersonalToken(t *testing.T) {
	for _, config := range []*rest.Config{{BearerToken: "of a person"}, {BearerToken: "of a person", BearerTokenFile: "/home/jane/token"}} {
		g := &gatherer{config: config}
		if token, err := g.token(t.Context()); token != "" || err == nil || !strings.Contains(err.Error(), "--metrics-account") {
			t.Errorf("the token is %q: %v", token, err)
		}
	}
	g := &gatherer{config: &rest.Config{BearerToken: "of a pod", BearerTokenFile: podToken}}
	if token, err := g.token(t.Context()); token != "of a pod" || err != nil {
		t.Errorf("the token is %q: %v", token, err)
	}
}
