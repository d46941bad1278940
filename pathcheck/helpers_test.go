package pathcheck

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/server"
)

// client127 is the address from which tests send requests. It differs from the address of the proxies.
const client127 = "127.0.0.9"

// startEcho starts an echo server with additional environment variables, and returns the server's addresses for HTTP and for HTTPS.
func startEcho(t *testing.T, environ ...string) (address, secure string) {
	t.Helper()
	s, err := server.ParseSettings("0", nil, append([]string{"ECHO_HTTP_ADDR=127.0.0.1:0", "ECHO_ADMIN_ADDR=127.0.0.1:0", "ECHO_DRAIN_DELAY=0s",
		"ECHO_POD_NAMESPACE=shop", "ECHO_SERVICE_NAME=web", "ECHO_POD_NAME=web-1"}, environ...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	output, writer := io.Pipe()
	go func() {
		_ = writer.CloseWithError(server.Run(t.Context(), s, "0", slog.New(slog.NewJSONHandler(writer, nil))))
	}()
	var first struct{ Address, HTTPS string }
	if err := json.NewDecoder(output).Decode(&first); err != nil || first.Address == "" {
		t.Fatalf("the echo server begins with %+v, %v", first, err)
	}
	go func() { _, _ = io.Copy(io.Discard, output) }() // until the server ends
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

// serveTLS is like serve, but with TLS, for which the server has a self-signed certificate. config can be nil.
func serveTLS(t *testing.T, h http.Handler, config *tls.Config) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2, server.Config.ErrorLog, server.TLS = true, quiet, config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
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
