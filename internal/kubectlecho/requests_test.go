package kubectlecho

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// pod applies the changes to a ready pod with named ports, and returns the result.
func pod(name string, changes ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		Namespace: "shop", Name: name,
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar", Ports: []corev1.ContainerPort{{Name: "admin", ContainerPort: 1}}},
			{Name: "echo", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9090}, {Name: "http", ContainerPort: 8080}}}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func notReady(p *corev1.Pod)    { p.Status.Conditions[1].Status = corev1.ConditionFalse }
func pending(p *corev1.Pod)     { p.Status.Conditions = nil }
func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }

func TestPortOf(t *testing.T) {
	p := pod("web")
	if port, err := portOf(&p, "http"); port != 8080 || err != nil {
		t.Errorf("got %d, %v", port, err)
	}
}

// apiServer is an API server with the Echo web in the namespace shop. The server forwards its pods' ports over SPDY. Like old API servers,
// it rejects WebSocket connections.
type apiServer struct {
	echo  v1.Echo
	owner string // the owner of the Service
	pods  []corev1.Pod
	ports map[string]string // the address to which each pod's port is forwarded
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := regexp.MustCompile(`^/api/v1/namespaces/shop/pods/([^/]+)/portforward$`).FindStringSubmatch(r.URL.Path)
	var object any
	switch {
	case name != nil && r.Method == http.MethodPost:
		support.ForwardPort(w, r, s.ports[name[1]])
		return
	case r.URL.Path == "/apis/example.com/v1/namespaces/shop/echoes/web":
		object = s.echo
	case r.URL.Path == "/api/v1/namespaces/shop/services/web":
		object = corev1.Service{
			OwnerReferences: []metav1.OwnerReference{{UID: "echo", Controller: new(s.owner == "echo")}},
			Spec:            corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
	case r.URL.Path == "/api/v1/namespaces/shop/pods" && r.URL.Query().Get("labelSelector") == "app=web":
		object = corev1.PodList{Items: s.pods}
	case r.URL.Path == "/apis/example.com/v1/namespaces/shop/echoes":
		object = v1.EchoList{Items: []v1.Echo{s.echo}}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

// respond starts a server that responds with the body, or with an error or a redirect if the path requests one. It returns the address.
func respond(t *testing.T, body string, start func(*httptest.Server)) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "web.shop.svc" || r.Header.Get("Accept") != "application/json" || !strings.HasPrefix(r.UserAgent(), "kubectl-echo/") {
			w.WriteHeader(http.StatusBadRequest)
		}
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}
		_, _ = io.WriteString(w, body)
	}))
	start(server)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestNewTest_sendsToReadyPods(t *testing.T) {
	plain, secure := (*httptest.Server).Start, (*httptest.Server).StartTLS
	api := &apiServer{
		echo:  v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "echo"}},
		owner: "echo",
		pods:  []corev1.Pod{pod("a"), pod("b"), pod("c", notReady), pod("d"), pod("e", terminating), pod("f", pending)},
		ports: map[string]string{"a": respond(t, `{"pod": "a"}`, plain), "b": respond(t, `{"pod": "\u001bb\n"}`, plain),
			"d": respond(t, "of another image", plain)},
	}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	send := func(arguments ...string) (int, []string, string) {
		t.Helper()
		code, stdout, stderr := run(t, append([]string{"test", "web", "-n", "shop", "--server=" + server.URL}, arguments...)...)
		stdout = regexp.MustCompile(`  \d+m?s\n`).ReplaceAllString(stdout, "\n")
		stdout = strings.ReplaceAll(stdout, "{\n \"pod\": \"a\"\n}", "{a}")
		// When a forwarded connection ends, the error from net/http depends on how much of the request was already sent.
		stdout = regexp.MustCompile(`(no response: )(EOF|http: server closed idle connection|read tcp \S+ read: connection reset by peer)\n`).
			ReplaceAllString(stdout, "${1}it ended\n")
		return code, strings.Split(strings.TrimSuffix(stdout, "\n"), "\n"), stderr
	}
	expect := func(wantCode int, want []string, arguments ...string) {
		t.Helper()
		if code, stdout, stderr := send(arguments...); code != wantCode || !slices.Equal(stdout, want) || stderr != "" {
			t.Errorf("%v: the exit code is %d, and it printed\n%s\n%s", arguments, code, strings.Join(stdout, "\n"), stderr)
		}
	}
	expect(0, []string{"a  200 OK", "b  200 OK", "d  200 OK", "a  200 OK", "", "HTTP/1.1 200 OK", "{a}", "",
		"4 requests, 0 failed; 3 of 3 ready pods responded"},
		"--requests=4")
	expect(0, []string{"a  302 Found", "", "HTTP/1.1 302 Found", `<a href="http://example.com/">Found</a>.`, "", `{"pod": "a"}`,
		"", "1 requests, 0 failed; 1 of 3 ready pods responded"}, "--requests=1", "--path=/elsewhere")
	expect(1, []string{"a  404 Not Found", "", "HTTP/1.1 404 Not Found", "{a}", "",
		"1 requests, 1 failed; 0 of 3 ready pods responded"}, "--requests=1", "--path=/missing")
	expect(1, []string{`a  the pod has no port "https"`, "", "1 requests, 1 failed; 0 of 3 ready pods responded"}, "--requests=1", "--tls")

	api.pods[0].Spec.Containers[1].Ports[0].Name = "https"
	byHTTP := api.ports["a"]
	api.ports["a"] = respond(t, `{"pod": "a"}`, secure)
	expect(0, []string{"a  200 OK", "", "HTTP/1.1 200 OK", "{a}", "",
		"1 requests, 0 failed; 1 of 3 ready pods responded"}, "--requests=1", "--tls")
	api.ports["a"] = byHTTP

	api.echo.Spec.Response = &v1.EchoResponse{StatusCode: 404}
	expect(0, []string{"a  404 Not Found", "", "HTTP/1.1 404 Not Found", "{a}", "",
		"1 requests, 0 failed; 1 of 3 ready pods responded"}, "--requests=1", "--path=/missing")
	api.ports["b"] = "127.0.0.1:1"
	expect(1, []string{"a  200 OK", "b  no response: it ended", "d  200 OK", "", "HTTP/1.1 200 OK", "{a}", "",
		"3 requests, 1 failed; 2 of 3 ready pods responded"},
		"--requests=3")

	for _, change := range []func(){func() { api.owner = "another" },
		func() { api.owner, api.pods = "echo", []corev1.Pod{pod("c", notReady)} }} {
		change()
		code, stdout, stderr := send()
		if code != 2 || stdout[0] != "" ||
			!strings.HasPrefix(stderr,
				`error: the Service "web" has no ready pods, or does not belong to the Echo: 'kubectl echo status web' shows why`) {
			t.Errorf("the exit code is %d, and it printed %q and %q", code, stdout, stderr)
		}
	}
}

// TestNewStatus_exitCode also checks the output about an Echo whose objects cannot be listed. Integration tests check it with all objects.
func TestNewStatus_exitCode(t *testing.T) {
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue}
	for want, c := range []struct {
		arguments  string
		conditions []metav1.Condition
		output     string
	}{
		{"-n shop", []metav1.Condition{ready}, "shop        web"}, {"web -n shop", nil, "Echo shop/web"},
		{"-n other", nil, "the cluster does not serve this kind"},
	} {
		server := httptest.NewServer(&apiServer{echo: v1.Echo{Namespace: "shop", Name: "web", Status: v1.EchoStatus{Conditions: c.conditions}}})
		t.Cleanup(server.Close)
		line := append([]string{"status", "--server=" + server.URL}, strings.Fields(c.arguments)...)
		if code, stdout, stderr := run(t, line...); code != want || !strings.Contains(stdout+stderr, c.output) {
			t.Errorf("%s: the exit code is %d, want %d, and it printed %q and %q", c.arguments, code, want, stdout, stderr)
		}
	}
}

// TestNewStatus_beingDeleted checks that the deletion of an Echo counts as a problem only if the operator reports one.
func TestNewStatus_beingDeleted(t *testing.T) {
	for degraded, want := range map[metav1.ConditionStatus]int{metav1.ConditionFalse: 0, metav1.ConditionTrue: 1} {
		echo := v1.Echo{Namespace: "shop", Name: "web", Generation: 2, DeletionTimestamp: &metav1.Time{Time: time.Now()},
			Status: v1.EchoStatus{ObservedGeneration: 2, Phase: v1.PhaseTerminating, Conditions: []metav1.Condition{
				{Type: v1.ConditionReady, Status: metav1.ConditionFalse}, {Type: v1.ConditionDegraded, Status: degraded}}}}
		for _, line := range []string{"status -n shop", "status web -n shop"} {
			server := httptest.NewServer(&apiServer{echo: echo})
			t.Cleanup(server.Close)
			code, stdout, stderr := run(t, append(strings.Fields(line), "--server="+server.URL)...)
			if code != want || !strings.Contains(stdout, "Terminating") {
				t.Errorf("%s, Degraded is %q: the exit code is %d, want %d, and it printed %q and %q", line, degraded, code, want, stdout, stderr)
			}
		}
	}
}

// TestNewStatus_incompleteTables checks that objects without columns are shown, with a warning.
func TestNewStatus_incompleteTables(t *testing.T) {
	const metadata = `"metadata": {"name": "one", "uid": "1", "ownerReferences": [{"kind": "Echo", "uid": "echo", "controller": true}]}`
	for name, c := range map[string]struct{ list, row, warning string }{
		"a short row": {`{"kind": "Table", "columnDefinitions": [{"name": "Name"}, {"name": "Ready"}, {"name": "Status"}],
			"rows": [{"cells": ["one", "1/1"], "object": {` + metadata + `}}]}`, "1/1", "the server sends no complete table of pods"},
		"no cells": {`{"kind": "Table", "columnDefinitions": [{"name": "Name"}], "rows": [{"object": {` + metadata + `}}]}`, "",
			"the server sends no complete table of pods"},
		"no table": {`{"kind": "PodList", "items": [{` + metadata + `}]}`, "", "the server sends no complete table of pods"},
	} {
		api := &apiServer{echo: v1.Echo{Namespace: "shop", Name: "web", UID: "echo"}}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/namespaces/shop/pods" {
				api.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, c.list)
		}))
		t.Cleanup(server.Close)
		code, stdout, stderr := run(t, "status", "web", "-n", "shop", "--server="+server.URL)
		if code != 1 || !regexp.MustCompile(`(?m)^└─Pod/one +`+c.row).MatchString(stdout) ||
			!strings.Contains(stderr, "warning: not everything is shown: "+c.warning+"\n") {
			t.Errorf("%s: the exit code is %d, and it printed %q and %q", name, code, stdout, stderr)
		}
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("x", shownRunes+1)
	for body, want := range map[string]string{
		`{"a":[1]}`:                       "{\n \"a\": [\n  1\n ]\n}\n",
		"text \x1b[31m\x00red\n":          "text [31mred\n",
		long:                              long[1:] + "...\n",
		"":                                "\n",
		strings.Repeat("a\n", shownLines): strings.Repeat("a\n", shownLines),
		strings.Repeat("a\n", 99):         strings.Repeat("a\n", shownLines) + "...\n",
	} {
		if got := shorten([]byte(body)); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
}

// TestNewTest_endsWhenInterrupted interrupts the program during the first of ten requests.
func TestNewTest_endsWhenInterrupted(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	ctx, interrupt := context.WithCancel(t.Context())
	echo := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		interrupt()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(echo.Close)
	api := httptest.NewServer(&apiServer{
		echo:  v1.Echo{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "echo"}},
		owner: "echo", pods: []corev1.Pod{pod("a")}, ports: map[string]string{"a": echo.Listener.Addr().String()},
	})
	t.Cleanup(api.Close)
	var stdout, stderr strings.Builder
	code := Run(ctx, "dev", []string{"kubectl-echo", "test", "web", "-n", "shop", "--server=" + api.URL}, &stdout, &stderr)
	if code != 2 || stdout.String() != "" || stderr.String() != "error: interrupted; the output is incomplete\n" {
		t.Errorf("the exit code is %d, and it printed %q and %q", code, stdout.String(), stderr.String())
	}
}
