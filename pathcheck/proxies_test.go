package pathcheck

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
)

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

// held holds back each response until the response is complete.
type held struct{ http.Handler }

func (h held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	h.Handler.ServeHTTP(recorder, r)
	maps.Copy(w.Header(), recorder.Header())
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

// withoutHints drops interim responses.
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

// rangesServed returns a proxy that serves ranges from complete responses.
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
	return alwaysCompress(r)
}

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

// newCache returns a proxy that caches the responses for some paths.
func newCache(address string) http.Handler {
	return cacheOf(address, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/cache/") })
}

// cacheOf returns a proxy that caches the responses to certain requests, keyed by URI.
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
