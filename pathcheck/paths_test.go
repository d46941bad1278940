package pathcheck

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"path"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
)

// proxyCase is a proxy that makes one change, and the facts that depend on the change.
type proxyCase struct {
	groups []string
	proxy  func(address string) http.Handler
	facts  map[string]string
}

func requestCases() map[string]proxyCase {
	group := []string{"request"}
	return map[string]proxyCase{
		"a proxy that changes nothing": {group, changes(nothing), map[string]string{"request.method": probe.Kept,
			"request.headers.removed": probe.None, "request.headers.changed": probe.None,
			"request.query": probe.Kept, "request.host": probe.Kept, "request.version": "HTTP/1.1", "request.http2": "HTTP/1.1",
			"request.trailers":     probe.Kept,
			"request.headers.case": "canonical", "request.path.dots": probe.Kept,
			"request.path.encodedSlash": probe.Kept, "request.path.doubleSlash": probe.Kept}},
		"headers are dropped": {group, changes(func(r *httputil.ProxyRequest) {
			r.Out.Header.Del("Accept-Language")
			for name := range r.Out.Header {
				if strings.Contains(name, "_") {
					r.Out.Header.Del(name)
				}
			}
		}), map[string]string{"request.headers.removed": "Accept-Language", "request.headers.underscores": probe.Dropped}},
		"headers are added": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Set("Via", "1.1 a") }),
			map[string]string{"request.headers.added": "Via"}},
		"headers are changed": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Set("Prefer", "x") }),
			map[string]string{"request.headers.changed": "Prefer"}},
		"credentials are replaced": {group, changes(func(r *httputil.ProxyRequest) {
			r.Out.Header.Set("Authorization", "Basic cGF0aDpjaGVjay==")
			r.Out.Header.Add("Cookie", "a=1")
		}), map[string]string{"request.headers.changed": "Authorization,Cookie"}},
		"headers are merged": {group, changes(func(r *httputil.ProxyRequest) {
			r.Out.Header.Set("X-Pathcheck-Twice", strings.Join(r.In.Header["X-Pathcheck-Twice"], ", "))
		}), map[string]string{"request.headers.duplicates": "merged"}},
		"the host is replaced": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Host = "internal" }),
			map[string]string{"request.host": probe.Changed}},
		"paths are cleaned": {group, changes(func(r *httputil.ProxyRequest) {
			r.Out.URL.Path, r.Out.URL.RawPath = path.Clean(r.In.URL.Path), ""
		}),
			map[string]string{"request.path.dots": "resolved", "request.path.encodedDots": "resolved", "request.path.doubleSlash": "merged",
				"request.path.encodedSlash": "decoded"}},
		"a prefix is added": {group, changes(func(r *httputil.ProxyRequest) { r.Out.URL.Path = "/v1" + r.In.URL.Path }),
			map[string]string{"request.path.prefix": probe.Changed}},
		"the query is dropped": {group, changes(func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = "" }),
			map[string]string{"request.query": probe.Dropped}},
		"a parameter is added": {[]string{"request", "body"}, changes(func(r *httputil.ProxyRequest) {
			r.Out.URL.RawQuery = strings.TrimPrefix(r.In.URL.RawQuery+"&tenant=a", "&")
		}), map[string]string{"request.query": probe.Changed, "request.path.prefix": probe.Kept, "request.path.encodedSlash": probe.Kept,
			"request.path.encoding": probe.Kept, "request.path.dots": probe.Kept, "request.path.encodedDots": probe.Kept,
			"request.path.doubleSlash": probe.Kept, "request.path.case": probe.Kept, "request.path.parameters": probe.Kept,
			"request.url.size": "7Ki", "request.url.size.by": "Echo", "body.max": "16Mi", "body.max.by": probe.None}},
		"a method is refused": {group, refuseIf(405, func(r *http.Request) bool {
			return r.Method == http.MethodPatch ||
				r.Method == http.MethodTrace
		}), map[string]string{"request.method": "refused PATCH", "request.methodOther": "refused TRACE"}},
		"long paths are refused": {group, refuseIf(414, func(r *http.Request) bool { return len(r.URL.Path) > 2100 }),
			map[string]string{"request.url.size": "2Ki"}},
		"many headers are refused": {group, refuseIf(431, func(r *http.Request) bool { return len(r.Header) > 50 }),
			map[string]string{"request.headers.number": "40"}},
		"long headers are cut": {group, changes(func(r *httputil.ProxyRequest) {
			if value := r.Out.Header.Get("X-Pathcheck-Size"); len(value) > 3000 {
				r.Out.Header.Set("X-Pathcheck-Size", value[:3000])
			}
		}), map[string]string{"request.headers.size": "2Ki"}},
		"many headers are dropped": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("X-Pathcheck-50") }),
			map[string]string{"request.headers.number": "40"}},
		"long paths are cut": {group, changes(func(r *httputil.ProxyRequest) {
			r.Out.URL.Path, r.Out.URL.RawPath = r.In.URL.Path[:min(len(r.In.URL.Path), 5000)], ""
		}), map[string]string{"request.url.size": "4Ki"}},
		"trailers are dropped": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Trailer = nil }),
			map[string]string{"request.trailers": probe.Dropped}},
		"the server has its own paths": {group, refuseIf(403, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "..") }),
			map[string]string{"request.path.dots": "refused 403"}},
	}
}

func bodyCases() map[string]proxyCase {
	body, response := []string{"body"}, []string{"response"}
	return map[string]proxyCase{
		"unchanged bodies": {body, changes(nothing), map[string]string{"body.max": "16Mi", "body.chunked": probe.Kept,
			"body.request": "streamed", "body.range": probe.Kept}},
		"a limit of 1 MiB": {body, refuseIf(413, func(r *http.Request) bool { return r.ContentLength > 1<<20 }),
			map[string]string{"body.max": "1Mi"}},
		"requests are held": {body, changes(func(r *httputil.ProxyRequest) {
			data, _ := io.ReadAll(r.In.Body)
			r.Out.Body, r.Out.ContentLength, r.Out.TransferEncoding = io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
		}), map[string]string{"body.request": "buffered", "body.chunked": "length set"}},
		"slow responses, unless the request controls the delay": {body, changes(func(r *httputil.ProxyRequest) {
			if r.In.Method == http.MethodGet && r.In.URL.RawQuery == "" {
				r.Out.URL.RawQuery = "echo.delay=1600ms"
			}
		}), map[string]string{"body.request": "streamed"}},
		"ranges are dropped": {body, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("Range") }),
			map[string]string{"body.range": probe.Dropped}},
		"ranges are served": {body, rangesServed, map[string]string{"body.range": "served by proxy"}},
		"Expect is refused": {body, refuseIf(417, func(r *http.Request) bool { return r.Header.Get("Expect") != "" }),
			map[string]string{"body.expect": "refused 417"}},

		"unchanged responses": {response, changes(nothing), map[string]string{"response.stream": "streamed", "response.status": probe.Kept,
			"response.headers.removed": probe.None, "response.headers.added": probe.None,
			"response.headers.changed": probe.None, "response.compression": probe.None, "response.cached": probe.No, "response.earlyHints": probe.Kept}},
		"responses are held": {response, held, map[string]string{"response.stream": "buffered"}},
		"pages for errors": {response, changesResponses(func(r *http.Response) error {
			if r.StatusCode >= 500 {
				r.Header.Del(proof.ResponseHeader)
			}
			return nil
		}), map[string]string{"response.status": "replaced 500,502,503,504"}},
		"another status": {response, changesResponses(func(r *http.Response) error {
			if r.StatusCode == http.StatusNotFound {
				r.StatusCode = 200
			}
			return nil
		}), map[string]string{"response.status": "replaced 404"}},
		"headers of responses": {response, changesResponses(func(r *http.Response) error {
			r.Header.Del("Vary")
			r.Header.Set("Server", "a")
			r.Header.Set("X-Test-Pathcheck", "2")
			return nil
		}), map[string]string{"response.headers.removed": "Vary", "response.headers.added": "Server",
			"response.headers.changed": "X-Test-Pathcheck"}},
		"a second policy": {response, changesResponses(func(r *http.Response) error {
			r.Header.Add("Content-Security-Policy", "default-src 'self'")
			return nil
		}), map[string]string{"response.headers.changed": "Content-Security-Policy"}},
		"caching is allowed": {response, changesResponses(func(r *http.Response) error {
			r.Header.Set("Cache-Control", "public")
			return nil
		}), map[string]string{"response.headers.changed": "Cache-Control"}},
		"compression":    {response, changesResponses(compress), map[string]string{"response.compression": "gzip"}},
		"a cache":        {response, newCache, map[string]string{"response.cached": probe.Yes}},
		"no early hints": {response, withoutHints, map[string]string{"response.earlyHints": probe.Dropped}},
	}
}

// TestRun_cacheOfAll checks that a cached response to an earlier request is not mistaken for the response to a later one.
func TestRun_cacheOfAll(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	plain := func(r *http.Request) bool { return r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/-/") }
	report := check(t, Options{URL: serve(t, cacheOf(address, plain)), Groups: []string{"client", "request"},
		Expect: []Expectation{expect("client.spoofable[X-Forwarded-For]", probe.NotFound)}})
	if report.ExitCode() == 0 {
		t.Error("the report claims that no one can spoof an address, but this is unknown")
	}
	expectFacts(t, report, map[string]string{"client.spoofable[X-Forwarded-For]": "", "client.requestID": "",
		"request.query": probe.Kept})
}

// TestRun_oneChangeInThePath examines proxies that make one change each. The facts must reveal the change.
func TestRun_oneChangeInThePath(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	for _, cases := range []map[string]proxyCase{requestCases(), clientCases(), bodyCases()} {
		for name, w := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				report := check(t, Options{URL: serve(t, w.proxy(address)), Groups: w.groups})
				expectFacts(t, report, w.facts)
				if len(report.NotTested) > 0 {
					t.Errorf("not tested: %v", report.NotTested)
				}
			})
		}
	}
}
