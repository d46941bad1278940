package pathcheck

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/echo-operator/echo-operator/internal/proof"
)

// way is a proxy that does one thing, and the facts that it turns round.
type way struct {
	groups []string
	proxy  func(address string) http.Handler
	facts  map[string]string
}

// changes returns a proxy that changes requests.
func changes(change func(*httputil.ProxyRequest)) func(string) http.Handler {
	return func(address string) http.Handler { return proxyTo(address, change) }
}

// answers returns a proxy that changes responses.
func answers(change func(*http.Response) error) func(string) http.Handler {
	return func(address string) http.Handler {
		proxy := proxyTo(address, nothing)
		proxy.ModifyResponse = change
		return proxy
	}
}

// before returns a proxy with a handler in front, which reports whether it has responded.
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

func requestWays() map[string]way {
	group := []string{"request"}
	return map[string]way{
		"a proxy that changes nothing": {group, changes(nothing), map[string]string{"request.method": kept, "request.headers.lost": none, "request.headers.changed": none,
			"request.query": kept, "request.host": kept, "request.version": "HTTP/1.1", "request.http2": "HTTP/1.1", "request.trailers": kept, "request.headers.size": "12Ki",
			"request.headers.case": "canonical", "request.headers.order": changed, "request.path.dots": kept, "request.path.encodedSlash": kept, "request.path.doubleSlash": kept}},
		"headers are dropped": {group, changes(func(r *httputil.ProxyRequest) {
			r.Out.Header.Del("Accept-Language")
			for name := range r.Out.Header {
				if strings.Contains(name, "_") {
					r.Out.Header.Del(name)
				}
			}
		}), map[string]string{"request.headers.lost": "Accept-Language", "request.headers.underscores": dropped}},
		"headers are added":   {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Set("Via", "1.1 a") }), map[string]string{"request.headers.added": "Via"}},
		"headers are changed": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Set("Prefer", "x") }), map[string]string{"request.headers.changed": "Prefer"}},
		"headers are merged": {group, changes(func(r *httputil.ProxyRequest) {
			r.Out.Header.Set("X-Pathcheck-Twice", strings.Join(r.In.Header["X-Pathcheck-Twice"], ", "))
		}), map[string]string{"request.headers.twice": "merged"}},
		"the host is replaced": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Host = "internal" }), map[string]string{"request.host": changed}},
		"paths are cleaned": {group, changes(func(r *httputil.ProxyRequest) { r.Out.URL.Path, r.Out.URL.RawPath = path.Clean(r.In.URL.Path), "" }),
			map[string]string{"request.path.dots": "resolved", "request.path.encodedDots": "resolved", "request.path.doubleSlash": "merged", "request.path.encodedSlash": "decoded"}},
		"a prefix is added":        {group, changes(func(r *httputil.ProxyRequest) { r.Out.URL.Path = "/v1" + r.In.URL.Path }), map[string]string{"request.path.prefix": changed}},
		"the query is dropped":     {group, changes(func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = "" }), map[string]string{"request.query": dropped}},
		"a method is refused":      {group, refuseIf(405, func(r *http.Request) bool { return r.Method == http.MethodPatch || r.Method == http.MethodTrace }), map[string]string{"request.method": "refused PATCH", "request.methodOther": "refused TRACE"}},
		"long headers are refused": {group, refuseIf(431, func(r *http.Request) bool { return len(r.Header.Get("X-Pathcheck-Size")) > 4096 }), map[string]string{"request.headers.size": "4Ki"}},
		"long paths are refused":   {group, refuseIf(414, func(r *http.Request) bool { return len(r.URL.Path) > 2100 }), map[string]string{"request.url.size": "2Ki"}},
		"many headers are refused": {group, refuseIf(431, func(r *http.Request) bool { return len(r.Header) > 50 }), map[string]string{"request.headers.number": "40"}},
		"long headers are cut": {group, changes(func(r *httputil.ProxyRequest) {
			if value := r.Out.Header.Get("X-Pathcheck-Size"); len(value) > 3000 {
				r.Out.Header.Set("X-Pathcheck-Size", value[:3000])
			}
		}), map[string]string{"request.headers.size": "2Ki"}},
		"many headers are dropped": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("X-Pathcheck-50") }), map[string]string{"request.headers.number": "40"}},
		"long paths are cut": {group, changes(func(r *httputil.ProxyRequest) {
			r.Out.URL.Path, r.Out.URL.RawPath = r.In.URL.Path[:min(len(r.In.URL.Path), 5000)], ""
		}), map[string]string{"request.url.size": "4Ki"}},
		"escaped slashes are refused":  {group, refuseIf(404, func(r *http.Request) bool { return strings.Contains(r.URL.RawPath, "%2F") }), map[string]string{"request.path.encodedSlash": "refused 404"}},
		"trailers are dropped":         {group, changes(func(r *httputil.ProxyRequest) { r.Out.Trailer = nil }), map[string]string{"request.trailers": dropped}},
		"the server has its own paths": {group, refuseIf(403, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "..") }), map[string]string{"request.path.dots": "refused 403"}},
	}
}

func clientWays() map[string]way {
	group := []string{"client"}
	forward := func(names ...string) func(*httputil.ProxyRequest) {
		return func(r *httputil.ProxyRequest) {
			for _, name := range names {
				r.Out.Header.Set(name, client127)
			}
		}
	}
	return map[string]way{
		"nothing is forwarded": {group, changes(nothing), map[string]string{"client.address": "lost", "client.address.by": none, "client.forgeable": yes, "client.forgeable.forwarded": yes,
			"client.forgeable.host": yes, "client.proto": "not told", "client.strippable": none, "client.requestID": kept, "client.traceparent": kept}},
		"the address is forwarded": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("X-Forwarded-For"); r.SetXForwarded() }), map[string]string{"client.address": kept,
			"client.address.by": "X-Forwarded-For", "client.forgeable": no, "client.proto": "told", "client.strippable": no, "client.forgeable.host": no, "client.forgeable.proto": no}},
		"the address is appended": {group, changes(func(r *httputil.ProxyRequest) { r.SetXForwarded() }), map[string]string{"client.forgeable": "in front"}},
		"X-Real-IP":               {group, changes(forward("X-Real-Ip")), map[string]string{"client.address.by": "X-Real-Ip", "client.forgeable.realIP": no}},
		"a client can strip": {group, changes(func(r *httputil.ProxyRequest) {
			if !strings.Contains(r.In.Header.Get("Connection"), "X-Real-Ip") {
				forward("X-Real-Ip")(r)
			}
		}), map[string]string{"client.strippable": yes}},
		"identifiers are made":     {group, changes(forward("X-Request-Id", "Traceparent")), map[string]string{"client.requestID": "replaced, else made", "client.traceparent": "replaced, else made"}},
		"identifiers are dropped":  {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("X-Request-Id") }), map[string]string{"client.requestID": dropped}},
		"forged headers forbidden": {group, refuseIf(403, func(r *http.Request) bool { return r.Header.Get("Forwarded") != "" }), map[string]string{"client.forgeable": "refused 403"}},
	}
}

func bodyWays() map[string]way {
	body, answer := []string{"body"}, []string{"answer"}
	return map[string]way{
		"bodies as they are": {body, changes(nothing), map[string]string{"body.max": "16Mi", "body.chunked": kept, "body.request": "streamed", "body.range": kept}},
		"a limit of 1 MiB":   {body, refuseIf(413, func(r *http.Request) bool { return r.ContentLength > 1<<20 }), map[string]string{"body.max": "1Mi"}},
		"requests are held": {body, changes(func(r *httputil.ProxyRequest) {
			data, _ := io.ReadAll(r.In.Body)
			r.Out.Body, r.Out.ContentLength, r.Out.TransferEncoding = io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
		}), map[string]string{"body.request": "buffered", "body.chunked": "length set"}},
		"ranges are dropped": {body, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("Range") }), map[string]string{"body.range": dropped}},
		"ranges are served":  {body, rangesServed, map[string]string{"body.range": "served by way"}},
		"Expect is refused":  {body, refuseIf(417, func(r *http.Request) bool { return r.Header.Get("Expect") != "" }), map[string]string{"body.expect": "refused 417"}},

		"responses as they are": {answer, changes(nothing), map[string]string{"answer.stream": "streamed", "answer.status": kept, "answer.headers.lost": none, "answer.headers.added": none,
			"answer.headers.changed": none, "answer.compression": none, "answer.cached": no, "answer.earlyHints": kept}},
		"responses are held": {answer, func(address string) http.Handler { return held{proxyTo(address, nothing)} }, map[string]string{"answer.stream": "buffered"}},
		"pages for errors": {answer, answers(func(r *http.Response) error {
			if r.StatusCode >= 500 {
				r.Header.Del(proof.ResponseHeader)
			}
			return nil
		}), map[string]string{"answer.status": "replaced 500,503"}},
		"another status": {answer, answers(func(r *http.Response) error {
			if r.StatusCode == http.StatusNotFound {
				r.StatusCode = 200
			}
			return nil
		}), map[string]string{"answer.status": "replaced 404"}},
		"headers of responses": {answer, answers(func(r *http.Response) error {
			r.Header.Del("Vary")
			r.Header.Set("Server", "a")
			r.Header.Set("X-Test-Pathcheck", "2")
			return nil
		}), map[string]string{"answer.headers.lost": "Vary", "answer.headers.added": "Server", "answer.headers.changed": "X-Test-Pathcheck"}},
		"compression":    {answer, answers(compress), map[string]string{"answer.compression": "gzip"}},
		"a cache":        {answer, newCache, map[string]string{"answer.cached": yes}},
		"no early hints": {answer, func(address string) http.Handler { return withoutHints{proxyTo(address, nothing)} }, map[string]string{"answer.earlyHints": dropped}},
	}
}

// held holds responses that do not end.
type held struct{ http.Handler }

func (h held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	h.Handler.ServeHTTP(recorder, r)
	maps.Copy(w.Header(), recorder.Header())
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

// withoutHints passes no interim responses on.
type withoutHints struct{ http.Handler }

func (h withoutHints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Handler.ServeHTTP(finalOnly{w}, r)
}

type finalOnly struct{ http.ResponseWriter }

func (f finalOnly) WriteHeader(status int) {
	if status >= 200 {
		f.ResponseWriter.WriteHeader(status)
	}
}

func (f finalOnly) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// rangesServed serves ranges from whole responses.
func rangesServed(address string) http.Handler {
	proxy := proxyTo(address, func(r *httputil.ProxyRequest) { r.Out.Header.Del("Range") })
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Context().Value(http.ServerContextKey) != nil && strings.HasSuffix(r.Request.URL.Path, "/range") {
			r.StatusCode = http.StatusPartialContent
		}
		return nil
	}
	return proxy
}

func compress(r *http.Response) error {
	if !strings.Contains(r.Request.Header.Get("Accept-Encoding"), "gzip") || r.StatusCode != http.StatusOK {
		return nil
	}
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

// newCache returns a proxy that stores the responses to some paths.
func newCache(address string) http.Handler {
	return cacheOf(address, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/cache/") })
}

// cacheOf returns a proxy that stores the responses to some requests by their URI.
func cacheOf(address string, stores func(*http.Request) bool) http.Handler {
	proxy, stored, mutex := proxyTo(address, nothing), map[string]*httptest.ResponseRecorder{}, sync.Mutex{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !stores(r) {
			proxy.ServeHTTP(w, r)
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		first := stored[r.RequestURI]
		if first == nil {
			first = httptest.NewRecorder()
			proxy.ServeHTTP(first, r)
			stored[r.RequestURI] = first
		}
		maps.Copy(w.Header(), first.Header())
		w.WriteHeader(first.Code)
		_, _ = w.Write(first.Body.Bytes())
	})
}

// TestACacheOfAllTellsNothing checks that what a cache stored of an earlier request is not taken for what happens to a later one.
func TestACacheOfAllTellsNothing(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	plain := func(r *http.Request) bool { return r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/-/") }
	report := check(t, Options{URL: serve(t, cacheOf(address, plain)), Groups: []string{"client", "request"}, Expect: []Expectation{{"client.forgeable", no}}})
	if report.OK() {
		t.Error("it says that nobody can forge an address, and does not know")
	}
	expectFacts(t, report, map[string]string{"client.forgeable": "refused cached", "client.requestID": "refused cached", "request.query": kept})
}

// TestWays examines proxies that do one thing each: the facts turn round.
func TestWays(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full")
	for _, ways := range []map[string]way{requestWays(), clientWays(), bodyWays()} {
		for name, w := range ways {
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
