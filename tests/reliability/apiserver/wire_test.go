package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errCut is the error that requests return if their process is cut off from the API server.
var errCut = errors.New("the connection was cut")

// wire forwards one operator process's requests to the API server, and counts them.
type wire struct {
	lock sync.Mutex
	dead bool
	// sent counts the requests that reconciles send, by namespace.
	sent map[string]int
	// watched changes the responses to list and watch requests. If watched is nil, the responses stay unchanged.
	watched func(http.RoundTripper, *http.Request) (*http.Response, error)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// around returns a transport that sends requests through the wire.
func (w *wire) around(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return w.carry(next, r) })
}

func (w *wire) carry(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	namespace, resource := target(r)
	w.lock.Lock()
	dead := w.dead
	if !fillsCache(r) && namespace != "" && resource != "events" && !dead {
		if w.sent == nil {
			w.sent = map[string]int{}
		}
		w.sent[namespace]++
	}
	w.lock.Unlock()
	switch {
	case dead:
		return nil, errCut
	case fillsCache(r) && w.watched != nil:
		return w.watched(next, r)
	default:
		return next.RoundTrip(r)
	}
}

func (w *wire) cut() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.dead = true
}

func (w *wire) isCut() bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.dead
}

// requests returns the number of requests that reconciles have sent in a namespace.
func (w *wire) requests(namespace string) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.sent[namespace]
}

// fillsCache reports whether a request lists or watches objects for a cache.
func fillsCache(r *http.Request) bool {
	query := r.URL.Query()
	return r.Method == http.MethodGet && (query.Has("watch") || query.Has("resourceVersion"))
}

// target returns a request's namespace and resource. Either value can be empty.
func target(r *http.Request) (namespace, resource string) {
	_, rest, found := strings.Cut(r.URL.Path, "/namespaces/")
	if !found {
		return "", ""
	}
	parts := strings.Split(rest, "/")
	if len(parts) < 2 {
		return "", ""
	}
	return parts[0], parts[1]
}

// expiredAnswer returns the API server's response to a request for a resource version that is too old.
func expiredAnswer(r *http.Request) *http.Response {
	text, err := json.Marshal(apierrors.NewResourceExpired("expired by the test").Status())
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: http.StatusGone, Status: http.StatusText(http.StatusGone), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Request: r, Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
		ContentLength: int64(len(text))}
}
