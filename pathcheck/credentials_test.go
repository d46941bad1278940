package pathcheck

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// requiring returns a path that responds with 401 to requests without the given header.
func requiring(name, value string) func(string) http.Handler {
	return refuseIf(401, func(r *http.Request) bool { return r.Header.Get(name) != value })
}

// TestRun_headers examines a path that requires headers. It checks that pathcheck can test all groups, and that the report does not
// attribute the sent headers to the path.
func TestRun_headers(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	for name, header := range map[string]Header{
		"a token":                       {Name: "Authorization", Value: "Bearer hunter2-hunter2"},
		"a session":                     {Name: "Cookie", Value: "session=hunter2-hunter2"},
		"a key":                         {Name: "x-api-key", Value: "hunter2-hunter2"},
		"a name that a probe also uses": {Name: "X-Api-Version", Value: "7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, requiring(header.Name, header.Value)(address))
			without := check(t, Options{URL: url})
			if !strings.Contains(without.Problem, "use --header-file") {
				t.Errorf("without the header: %s", without.Problem)
			}
			with := check(t, Options{URL: url, Headers: []Header{header}})
			expectFacts(t, with, map[string]string{"request.headers.removed": probe.None, "request.headers.added": probe.None,
				"request.headers.changed": probe.None, "websocket.upgrade": probe.Yes, "websocket.proto": "not reported",
				"response.stream": "streamed", "body.max": "16Mi", "retries.get": "0", "loadBalancing.keepAlive": probe.Yes,
				"client.removable": probe.None, "latency.p50": with.fact("latency.p50").Value})
			if len(with.NotTested) != 1 || with.NotTested[0].Name != "tls" {
				t.Errorf("not tested: %v", with.NotTested)
			}
		})
	}
}

// TestRun_headersOfProxies sends headers that proxies usually add. The report must not attribute the headers to proxies.
func TestRun_headersOfProxies(t *testing.T) {
	address, _ := startEcho(t)
	report := check(t, Options{URL: serve(t, proxyTo(address, nothing)), Groups: []string{"client", "request"}, Headers: []Header{
		{Name: "X-Forwarded-For", Value: client127}, {Name: "X-Forwarded-Proto", Value: "http"}, {Name: "X-Request-Id", Value: "mine"}}})
	expectFacts(t, report, map[string]string{"client.address": "lost", "client.proto": "not reported", "client.requestID": probe.Kept,
		"client.spoofable": probe.Yes, "request.headers.added": probe.None})
}

// TestRun_headersOnlyToTrustedServers checks that a server with a self-signed certificate receives no secrets.
func TestRun_headersOnlyToTrustedServers(t *testing.T) {
	address, _ := startEcho(t)
	var received atomic.Int64
	proxy := proxyTo(address, nothing)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	server.EnableHTTP2, server.Config.ErrorLog = true, quiet
	server.StartTLS()
	t.Cleanup(server.Close)
	o := Options{URL: server.URL, Headers: []Header{{Name: "X-Api-Key", Value: "hunter2-hunter2"}}, Groups: []string{"tls", "request", "grpc"}}
	if report := check(t, o); received.Load() > 0 || !strings.Contains(report.Problem, "--ca-file") {
		t.Errorf("%d requests were sent: %s", received.Load(), report.Problem)
	}
	o.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	expectFacts(t, check(t, o), map[string]string{"tls.trust": probe.Yes, "tls.termination": "proxy", "tls.minVersion": "TLS 1.2",
		"request.http2": "HTTP/1.1"})
}

// TestRun_directHasNoHeaders checks that secrets for a proxy are not sent to any other server.
func TestRun_directHasNoHeaders(t *testing.T) {
	address, _ := startEcho(t)
	var received atomic.Bool
	direct := serve(t, proxyTo(address, func(r *httputil.ProxyRequest) {
		if r.In.Header.Get("X-Api-Key") != "" {
			received.Store(true)
		}
	}))
	report := check(t, Options{URL: serve(t, proxyTo(address, nothing)), Direct: direct, Groups: []string{"latency"},
		Headers: []Header{{Name: "X-Api-Key", Value: "hunter2-hunter2"}}})
	if report.fact("latency.direct.p50") == nil || received.Load() {
		t.Errorf("the report is %+v", report)
	}
}

// certificateFiles writes a certificate and its key to files.
func certificateFiles(t *testing.T) (certificate *x509.Certificate, file, key string) {
	t.Helper()
	certificate, private := echotest.SelfSigned(t, "client.example", time.Now().Add(time.Hour))
	folder := t.TempDir()
	file, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	writePEM(t, file, "CERTIFICATE", certificate.Raw)
	writePEM(t, key, "PRIVATE KEY", marshal(t, private))
	return certificate, file, key
}

func marshal(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	data, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writePEM(t *testing.T, file, kind string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCommand_certificate runs all groups against a server that requires a client certificate.
func TestCommand_certificate(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	certificate, file, key := certificateFiles(t)
	server := httptest.NewUnstartedServer(proxyTo(address, nothing))
	server.EnableHTTP2, server.Config.ErrorLog = true, quiet
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	server.TLS.ClientCAs.AddCert(certificate)
	server.StartTLS()
	t.Cleanup(server.Close)
	without, output := runCommand(t, server.URL)
	if without.Problem == "" || !strings.Contains(output, "certificate required") {
		t.Errorf("without a certificate: %s", output)
	}
	with, output := runCommand(t, "--cert="+file, "--key="+key, server.URL)
	expectFacts(t, with, map[string]string{"tls.termination": "proxy", "tls.alpn": "h2", "websocket.upgrade": probe.Yes, "request.http2": "HTTP/1.1",
		"websocket.http2": probe.No, "tls.minVersion": "TLS 1.2"})
	if len(with.NotTested) > 0 {
		t.Errorf("with a certificate: %s", output)
	}
}

// TestCommand_headerFile sends headers from a file and from flags.
func TestCommand_headerFile(t *testing.T) {
	address, _ := startEcho(t)
	file := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(file, []byte("# of the gateway\r\n\r\nX-Api-Key: a:b c \r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := refuseIf(401, func(r *http.Request) bool {
		return r.Header.Get("X-Api-Key") != "a:b c" || !slices.Equal(r.Header["X-Twice"], []string{"1", "2"})
	})
	report, _ := runCommand(t, serve(t, proxy(address)), "--header-file", file, "-H", "X-Twice: 1", "--header=x-twice:2", "--groups=request")
	expectFacts(t, report, map[string]string{"request.host": probe.Kept})
}

func runCommand(t *testing.T, arguments ...string) (*Report, string) {
	t.Helper()
	var command Command
	flags := pflag.NewFlagSet("pathcheck", pflag.ContinueOnError)
	command.Flags(flags)
	if err := flags.Parse(append(slices.Clone(arguments), "--source="+client127)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	report, err := command.Run(t.Context(), flags.Arg(0), "v1", &out)
	if err != nil {
		t.Fatal(err)
	}
	return report, out.String()
}
