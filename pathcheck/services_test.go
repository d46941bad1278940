package pathcheck

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestRun_retriesWithCookies examines a proxy in front of two servers that chooses a server by a cookie. Without it, lookups reach only
// the server that is not busy, and a request with the user's cookie is required.
func TestRun_retriesWithCookies(t *testing.T) {
	one, _ := startEcho(t, "ECHO_POD_NAME=web-1")
	two, _ := startEcho(t, "ECHO_POD_NAME=web-2")
	proxies := []http.Handler{proxyTo(one, nothing), proxyTo(two, nothing)}
	var number atomic.Int64
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if login, err := r.Cookie("login"); err != nil || login.Value != "secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		chosen := 0
		if route, err := r.Cookie("route"); err == nil {
			chosen, _ = strconv.Atoi(route.Value)
		} else if !strings.HasPrefix(r.URL.Path, "/-/arrivals") {
			chosen = int(number.Add(1) % 2)
			http.SetCookie(w, &http.Cookie{Name: "route", Value: strconv.Itoa(chosen)})
		}
		proxies[chosen].ServeHTTP(w, r)
	}))
	report := check(t, Options{URL: url, Groups: []string{"retries", "loadBalancing"}, Headers: []Header{{Name: "Cookie", Value: "login=secret"}}})
	expectFacts(t, report, map[string]string{"retries.get": "0", "retries.post": "0", "loadBalancing.affinity": "cookie"})
}

// TestRun_tls examines paths on which TLS is terminated at a proxy, at the Echo, or at both.
func TestRun_tls(t *testing.T) {
	folder := t.TempDir()
	authority := writeCertificate(t, folder)
	address, secure := startEcho(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+folder)
	terminating := serveTLS(t, proxyTo(address, nothing), nil)
	again := proxyTo(secure, nothing)
	rewrite := again.Rewrite
	again.Rewrite = func(r *httputil.ProxyRequest) { rewrite(r); r.Out.URL.Scheme = "https" }
	again.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	both := serveTLS(t, again, &tls.Config{NextProtos: []string{"http/1.1"}})
	rsa := serveTLS(t, proxyTo(address, nothing), &tls.Config{MaxVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}}) //nolint:gosec // the subject of the test
	passing := strings.Replace(echotest.Serve(t, func(c net.Conn) { pipe(c, secure) }), "http:", "https:", 1)
	for name, c := range map[string]struct {
		url   string
		ca    []byte
		facts map[string]string
	}{
		"at a proxy": {terminating.URL, nil, map[string]string{"tls.termination": "proxy", "tls.trust": "no: unknown authority", "tls.alpn": "h2",
			"tls.version": "TLS 1.3", "tls.minVersion": "TLS 1.2", "request.http2": "HTTP/1.1"}},
		"trusted": {terminating.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: terminating.Certificate().Raw}),
			map[string]string{"tls.trust": probe.Yes, "tls.name": probe.Kept, "tls.chain": "1"}},
		"at both":               {both.URL, nil, map[string]string{"tls.termination": "both", "tls.alpn": "http/1.1", "request.http2": probe.No}},
		"only RSA key exchange": {rsa.URL, nil, map[string]string{"tls.cipher": "TLS_RSA_WITH_AES_128_GCM_SHA256"}},
		"at the Echo": {passing, authority, map[string]string{"tls.termination": "Echo", "tls.trust": probe.Yes, "tls.name": "another",
			"client.address": "lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectFacts(t, check(t, Options{URL: c.url, CA: c.ca, Groups: []string{"tls", "request", "client"}}), c.facts)
		})
	}
}

// pipe copies data between a client and a server.
func pipe(c io.ReadWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, c) // until one side closes its connection
		_ = server.Close()
	}()
	_, _ = io.Copy(c, server)
}

// writeCertificate writes a certificate for another host, and the certificate's key, to files, and returns the certificate in PEM format.
func writeCertificate(t *testing.T, folder string) []byte {
	t.Helper()
	leaf, private := echotest.SelfSigned(t, "other.example", time.Now().Add(time.Hour))
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	for name, content := range map[string][]byte{"tls.crt": data, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// TestRun_settingsOfTheEcho examines Echoes with settings that reduce the information in their responses, and proxies with the same effect. A
// report must name a setting as the reason only if the setting is the reason.
func TestRun_settingsOfTheEcho(t *testing.T) {
	for name, c := range map[string]struct {
		environ          string
		proxy            func(string) http.Handler // nil: none
		request, retries string                    // the reasons why these groups are not tested
		notTested        string                    // other groups and facts
		facts            map[string]string
	}{
		"a fixed body": {environ: "ECHO_RESPONSE_BODY=hello", request: "a fixed body (spec.response.body), or a proxy",
			notTested: "client body", facts: map[string]string{"response.status": probe.Kept, "response.cached": probe.No}},
		"no controls": {environ: "ECHO_CONTROLS=None", retries: "(spec.server.controls: None)",
			notTested: "response.status response.earlyHints",
			facts:     map[string]string{"client.address": probe.Kept, "response.headers.removed": probe.None}},
		"neither": {environ: "ECHO_CONTROLS=None ECHO_RESPONSE_BODY=hello", request: "a fixed body",
			retries: "because of spec.server.controls: None or a proxy"},
		"a hidden identity": {environ: "ECHO_IDENTITY=false", notTested: "client.address loadBalancing.upstream",
			facts: map[string]string{"loadBalancing.pods": "1", "request.method": probe.Kept}},
		"a status without ranges": {environ: "ECHO_RESPONSE_STATUS=404", facts: map[string]string{"body.range": probe.Kept}},
		"a status without bodies": {environ: "ECHO_RESPONSE_STATUS=204", request: "no body (status 204)", notTested: "client body",
			facts: map[string]string{"response.headers.removed": probe.None, "response.status": probe.Kept, "retries.get": "0",
				"outlierDetection": probe.None}},
		"another media type": {environ: `ECHO_RESPONSE_HEADERS=[{"name":"Content-Type","value":"text/plain"}]`,
			facts: map[string]string{"request.method": probe.Kept, "response.headers.removed": probe.None, "body.max": "16Mi", "retries.get": "0"}},
		"caching": {environ: `ECHO_RESPONSE_HEADERS=[{"name":"Cache-Control","value":"public"}]`,
			facts: map[string]string{"response.headers.changed": probe.None}},
		"a fixed status": {environ: "ECHO_RESPONSE_STATUS=503", facts: map[string]string{"request.method": probe.Kept,
			"request.path.dots": probe.Kept, "client.address": probe.Kept}},
		"compression that was not requested": {proxy: changesResponses(alwaysCompress)},
		"the query is dropped": {proxy: changes(func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = "" }),
			retries: "a proxy removes controls from the query"},
		"controls are refused": {proxy: refuseIf(403, func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "echo.") }),
			retries: "a proxy does not forward requests with controls: a proxy responds with 403 itself"},
		"X-Echo-Applied is removed": {proxy: changesResponses(func(r *http.Response) error {
			r.Header.Del("X-Echo-Applied")
			return nil
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := startEcho(t, strings.Fields(c.environ)...)
			o := Options{URL: "http://" + address, Echo: proof.Echo{Namespace: "shop", Name: "web"},
				Groups: []string{"request", "client", "body", "response", "retries", "loadBalancing", "outlierDetection"}}
			if c.proxy != nil {
				o.URL, o.Groups = serve(t, c.proxy(address)), []string{"request", "retries"}
			}
			report, reasons := check(t, o), map[string]string{}
			expectFacts(t, report, c.facts)
			for _, each := range report.NotTested {
				reasons[each.Name] = each.Reason
			}
			for group, want := range map[string]string{"request": c.request, "retries": c.retries} {
				if got := reasons[group]; !strings.Contains(got, want) || (got == "") != (want == "") {
					t.Errorf("%s: the reason is %q, want %q", group, got, want)
				}
			}
			for want := range strings.FieldsSeq(c.notTested) {
				if reasons[want] == "" {
					t.Errorf("%s is tested; not tested are %v", want, report.NotTested)
				}
			}
		})
	}
}

// changes returns a proxy that changes requests.
func changes(change func(*httputil.ProxyRequest)) func(string) http.Handler {
	return func(address string) http.Handler { return proxyTo(address, change) }
}

// changesResponses returns a proxy that changes responses.
func changesResponses(change func(*http.Response) error) func(string) http.Handler {
	return func(address string) http.Handler {
		proxy := proxyTo(address, nothing)
		proxy.ModifyResponse = change
		return proxy
	}
}

// before returns a proxy that first calls a handler, and forwards the request unless the handler has responded.
func before(handle func(http.ResponseWriter, *http.Request) bool) func(string) http.Handler {
	return func(address string) http.Handler {
		proxy := proxyTo(address, nothing)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !handle(w, r) {
				proxy.ServeHTTP(w, r)
			}
		})
	}
}

func refuseIf(status int, wrong func(*http.Request) bool) func(string) http.Handler {
	return before(func(w http.ResponseWriter, r *http.Request) bool {
		if wrong(r) {
			w.WriteHeader(status)
		}
		return wrong(r)
	})
}

func respondAs(w http.ResponseWriter, recorded *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), recorded.Header())
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

type finalOnly struct{ http.ResponseWriter }

func (f finalOnly) WriteHeader(status int) {
	if status >= 200 {
		f.ResponseWriter.WriteHeader(status)
	}
}

func (f finalOnly) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// alwaysCompress compresses a response even if the request does not allow this.
func alwaysCompress(r *http.Response) error {
	var b bytes.Buffer
	writer := gzip.NewWriter(&b)
	if _, err := io.Copy(writer, r.Body); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("Content-Length", strconv.Itoa(b.Len()))
	r.Body, r.ContentLength = io.NopCloser(&b), int64(b.Len())
	return nil
}

// TestRun_silence checks that the verdict reports the part of the path that gave no response, and that the Service is queried even if the
// request to the URL lasts until the deadline.
func TestRun_silence(t *testing.T) {
	silent, open := echotest.Silent(t), serve(t, http.NotFoundHandler())
	report := check(t, Options{URL: silent + "/shop", Service: open, Deadline: 300 * time.Millisecond})
	v, err := verdict.Decode(string(report.Verdict()))
	if want := strings.TrimPrefix(silent, "http://"); err != nil || v.Silent != verdict.SilentURL || v.Address != want {
		t.Errorf("%v: the verdict is %+v", err, v)
	}
	report = check(t, Options{URL: open, Service: silent})
	if v, err := verdict.Decode(string(report.Verdict())); err != nil || v.Problem == "" || v.Silent != "" || v.Address != "" {
		t.Errorf("%v: the verdict on another server is %+v", err, v)
	}
}
