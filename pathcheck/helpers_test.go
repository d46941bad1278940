package pathcheck

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// client127 is the address from which tests send requests. It differs from the address of the proxies.
const client127 = "127.0.0.9"

var programFolder string

// program builds the echo server once for all tests.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "pathcheck")
	if err != nil {
		return "", err
	}
	programFolder = folder
	path := filepath.Join(folder, "echo-server")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "../cmd/echo-server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(output)))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(programFolder)
	os.Exit(code)
}

// startEcho starts an echo server with additional environment variables, and returns the server's addresses for HTTP and for HTTPS.
func startEcho(t *testing.T, environ ...string) (address, secure string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), path, "--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--drain-delay=0s")
	server.Env = append([]string{"ECHO_POD_NAMESPACE=shop", "ECHO_SERVICE_NAME=web", "ECHO_POD_NAME=web-1"}, environ...)
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // Wait fails because the process is killed
	reader := bufio.NewReader(stderr)
	line, err := reader.ReadBytes('\n')
	var first struct{ Address, HTTPS string }
	if err != nil || json.Unmarshal(line, &first) != nil || first.Address == "" {
		t.Fatalf("the echo server begins with %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }() // until the server exits
	return first.Address, first.HTTPS
}

// proxyTo returns a proxy that makes only the given change to requests.
func proxyTo(address string, change func(*httputil.ProxyRequest)) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host, r.Out.URL.RawQuery, r.Out.Trailer = r.In.Host, r.In.URL.RawQuery, r.In.Trailer
		for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
			if values, ok := r.In.Header[name]; ok {
				r.Out.Header[name] = values
			}
		}
		change(r)
	}}
}

var quiet = log.New(io.Discard, "", 0)

func nothing(*httputil.ProxyRequest) {}

// serve runs a server with a handler until the end of the test, and returns the server's URL.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = quiet
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// check runs pathcheck with the given options, and returns the report.
func check(t *testing.T, o Options) *Report {
	t.Helper()
	o.Source = netip.MustParseAddr(client127)
	if o.Deadline == 0 {
		o.Deadline = time.Minute
	}
	report, err := Run(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range report.Facts {
		if each.Meaning == "" {
			t.Errorf("%s is not in the table of facts", each.Name)
		}
	}
	return report
}

// expectFacts compares facts in a report with expected values, which are keyed by fact name. An empty value means that the fact is unknown.
func expectFacts(t *testing.T, r *Report, want map[string]string) {
	t.Helper()
	if r.Problem != "" {
		t.Error(r.Problem)
	}
	for name, value := range want {
		if f := r.fact(name); (f == nil) != (value == "") || f != nil && f.Value != value {
			t.Errorf("%s is %+v, want %s; not tested: %v", name, f, value, r.NotTested)
		}
	}
}
