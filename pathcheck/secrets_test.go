package pathcheck

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/pflag"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
)

// marker is part of all secrets in these tests, and must not occur in any output.
const marker = "hunter2"

// revealing returns a path that reveals a secret wherever it can: in requests to the Echo and in responses.
func revealing(name string) func(string) http.Handler {
	return func(address string) http.Handler {
		proxy := proxyTo(address, func(r *httputil.ProxyRequest) {
			secret := r.In.Header.Get(name)
			for _, each := range []string{"X-Copy", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-Ip", "Accept-Language", "Via",
				"X-Request-Id", "Traceparent", "User-Agent", "X_Pathcheck_Name", "X-Pathcheck-Bytes"} {
				r.Out.Header.Set(each, secret)
			}
			_, token, _ := strings.Cut(secret, " ")
			r.Out.Header.Set("X-Token", "token="+token)
			r.Out.Header.Set("X-Escaped", url.QueryEscape(secret))
			if !strings.Contains(r.Out.URL.RawQuery, "echo.") && r.Out.URL.RawQuery != "" {
				r.Out.URL.RawQuery += "&" + url.QueryEscape(secret)
			}
		})
		proxy.ModifyResponse = func(r *http.Response) error {
			secret := r.Request.Header.Get(name)
			for _, each := range []string{"Server", "X-Copy", "Set-Cookie", "Content-Encoding", "X-Content-Type-Options"} {
				r.Header.Set(each, secret)
			}
			return nil
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.Contains(r.URL.RawQuery, "echo.delay"): // this request would take a long time
				http.Redirect(w, r, "/login?token="+url.QueryEscape(r.Header.Get(name)), http.StatusFound)
			case r.Method == "BREW":
				w.WriteHeader(http.StatusTeapot)
			default:
				proxy.ServeHTTP(w, r)
			}
		})
	}
}

func secretHeaders() map[string]Header {
	return map[string]Header{
		"a token":        {Name: "Authorization", Value: "Bearer " + marker + "-" + marker},
		"a password":     {Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte("bob:"+marker+"-"+marker))},
		"cookies":        {Name: "Cookie", Value: "a=" + marker + "-aaaa; b=" + marker + "-bbbb"},
		"a key":          {Name: "X-Api-Key", Value: marker},
		"a long one":     {Name: "X-Assertion", Value: strings.Repeat(marker+"-", 100)},
		"escapes":        {Name: "X-Key", Value: marker + "-" + marker + `"\<&>"` + "\u00e9 %" + marker + "-" + marker},
		"a short token":  {Name: "Authorization", Value: "Bearer " + marker},
		"a short cookie": {Name: "Cookie", Value: "a=" + marker + "; b=1"},
	}
}

// TestRun_reportsHaveNoSecrets runs all groups on paths that send secrets back, and checks each output.
func TestRun_reportsHaveNoSecrets(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full", "ECHO_REDACT_HEADERS=none")
	all, _ := GroupNames()
	for name, header := range secretHeaders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := check(t, Options{URL: serve(t, revealing(header.Name)(address)), Groups: all, Headers: []Header{header},
				Expect: []Expectation{expect("response.compression", "none"), expect("client.proto", "reported"), expect("request.method", "kept")}})
			if report.Problem != "" || len(report.Facts) < 60 {
				t.Fatalf("the report is %+v", report)
			}
			expectNoSecrets(t, report)
		})
	}
}

// expectNoSecrets fails the test if a report contains a secret in any format.
func expectNoSecrets(t *testing.T, report *Report) {
	t.Helper()
	for format, write := range formats() {
		var b strings.Builder
		if err := write(report, &b); err != nil {
			b.WriteString(err.Error())
		}
		found := false
		for line := range strings.Lines(b.String()) {
			if strings.Contains(line, marker) || strings.Contains(line, base64.RawStdEncoding.EncodeToString([]byte("bob:" + marker))[:12]) {
				t.Errorf("%s: %s", format, line)
			}
			found = found || strings.Contains(line, hidden)
		}
		if !found && format != "expect" {
			t.Errorf("%s hides nothing, so nothing was sent back", format)
		}
	}
	if strings.Contains(string(report.Verdict()), marker) {
		t.Errorf("the verdict is %s", report.Verdict())
	}
}

// TestRun_problemsHaveNoSecrets checks the reports about servers that are not Echoes.
func TestRun_problemsHaveNoSecrets(t *testing.T) {
	for name, header := range secretHeaders() {
		report := check(t, Options{URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			secret := r.Header.Get(header.Name)
			http.Redirect(w, r, "https://login.example/?plain="+secret+"&escaped="+url.QueryEscape(secret), http.StatusFound)
		})), Headers: []Header{header}})
		if !strings.Contains(report.Problem, "redirects to https://login.example/") {
			t.Errorf("%s: the problem is %s", name, report.Problem)
		}
		expectNoSecrets(t, report)
	}
}

// TestReport_hide checks each part of a report that can contain text from a server.
func TestReport_hide(t *testing.T) {
	const secret = marker + "-" + marker
	r := &Report{Problem: secret, Facts: []Fact{{Name: "a", Value: secret, Sent: secret, Received: secret}, {Name: "b", Value: "kept"}},
		NotTested: []NotTested{{Name: "c", Reason: secret}}, Expected: []Result{{expect("a", "kept"), secret, false, ""},
			{expect("c", "kept"), "", false, secret}}}
	r.hide(newSecrets([]Header{{Name: "A", Value: secret}, {Name: "B", Value: "kept"}}))
	expectNoSecrets(t, r)
	if r.Facts[1].Value != "kept" {
		t.Errorf("a value of this program is hidden: %v", r.Facts[1])
	}
}

func TestSecrets_hide(t *testing.T) {
	long, short := strings.Repeat("0123456789", 60), "4711"
	s := newSecrets([]Header{{Name: "A", Value: "Bearer " + long}, {Name: "B", Value: short}, {Name: "C", Value: "1"}})
	for text, want := range map[string]string{
		"a " + long + " b":              "a [hidden] b",
		"a=" + long + long:              "a=[hidden][hidden]",
		"a " + long[:300] + "...":       "a [hidden]...",
		long[:25] + "#123456":           "[hidden]#123456",
		"Bearer " + long:                "[hidden]",
		"4711":                          "[hidden]",
		"pin 4711; 14711, 4711a, -4711": "pin [hidden]; 14711, 4711a, -[hidden]",
		"47114711":                      "47114711",
		"HTTP/1.1, 1 request":           "HTTP/1.1, 1 request",
		"012 of 4":                      "012 of 4",
	} {
		if got := s.hide(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := newSecrets(nil).hide("a"); got != "a" {
		t.Errorf("without secrets: %q", got)
	}
}

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
				"response.stream": "streamed", "body.max": "2Mi", "retries.get": "0", "loadBalancing.keepAlive": probe.Yes,
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
		"client.spoofable[X-Forwarded-For]": probe.Yes, "request.headers.added": probe.None})
}

// TestRun_headersOnlyToTrustedServers checks that a server with a self-signed certificate receives no secrets.
func TestRun_headersOnlyToTrustedServers(t *testing.T) {
	address, _ := startEcho(t)
	var received atomic.Int64
	proxy := proxyTo(address, nothing)
	server := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		proxy.ServeHTTP(w, r)
	}), nil)
	o := Options{URL: server.URL, Headers: []Header{{Name: "X-Api-Key", Value: "hunter2-hunter2"}}, Groups: []string{"tls", "request", "grpc"}}
	if report := check(t, o); received.Load() > 0 || !strings.Contains(report.Problem, "--ca-file") {
		t.Errorf("%d requests were sent: %s", received.Load(), report.Problem)
	}
	o.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	expectFacts(t, check(t, o), map[string]string{"tls.trust": probe.Yes, "tls.termination": "proxy", "tls.minVersion": "TLS 1.2",
		"request.http2": "HTTP/1.1"})
}

// TestCommand_certificate runs all groups against a server that requires a client certificate.
func TestCommand_certificate(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	folder := t.TempDir()
	certificate := writeCertificate(t, folder)
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(certificate)
	server := serveTLS(t, proxyTo(address, nothing), &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients})
	without, output := runCommand(t, server.URL)
	if without.Problem == "" || !strings.Contains(output, "certificate required: use --cert") {
		t.Errorf("without a certificate: %s", output)
	}
	page := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }),
		&tls.Config{ClientAuth: tls.RequestClientCert}) // as nginx, which responds with a page
	if without, output := runCommand(t, page.URL); !strings.Contains(without.Problem, "requests a client certificate: use --cert") {
		t.Errorf("without a certificate: %s", output)
	}
	with, output := runCommand(t, "--cert="+folder+"/tls.crt", "--key="+folder+"/tls.key", server.URL)
	expectFacts(t, with, map[string]string{"tls.termination": "proxy", "tls.alpn": "h2", "websocket.upgrade": probe.Yes, "request.http2": "HTTP/1.1",
		"tls.minVersion": "TLS 1.2"})
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
