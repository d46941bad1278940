package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errCut is the error that requests return if their process is cut off from the API server.
var errCut = errors.New("the connection was cut")

// wire forwards one operator process's requests to the API server, and causes faults.
type wire struct {
	lock sync.Mutex
	dead bool
	// sent counts the requests that reconciles send, by namespace.
	sent map[string]int
	// written counts the requests in sent that write children.
	written map[string]int
	// fault affects a request in the fault's namespace. after is the number of other requests that precede it.
	fault *fault
	after int
	// watched changes the responses to list and watch requests. If watched is nil, the responses stay unchanged.
	watched func(http.RoundTripper, *http.Request) (*http.Response, error)
}

// fault is a failure that affects a request.
type fault struct {
	name      string
	namespace string
	// code is the response's status code, or 0 if there is no response.
	code int
	// done is true if the request takes effect despite the fault.
	done bool
	// crash is true if the fault terminates the process.
	crash bool
}

func faults() []fault {
	return []fault{
		{name: "gets response 403", code: http.StatusForbidden},
		{name: "gets response 404", code: http.StatusNotFound},
		{name: "gets response 409", code: http.StatusConflict},
		{name: "gets response 500", code: http.StatusInternalServerError},
		{name: "gets response 500 after it is carried out", code: http.StatusInternalServerError, done: true},
		{name: "gets response 503", code: http.StatusServiceUnavailable},
		{name: "gets no response"},
		{name: "gets no response after it is carried out", done: true},
		{name: "is the last before a crash", done: true, crash: true},
		{name: "is not sent because of a crash", crash: true},
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// around returns a transport that sends requests through the wire.
func (w *wire) around(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return w.carry(next, r) })
}

func (w *wire) carry(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if fillsCache(r) {
		if w.isCut() {
			return nil, errCut
		}
		if w.watched != nil {
			return w.watched(next, r)
		}
		return next.RoundTrip(r)
	}
	f, err := w.count(r)
	if err != nil || f == nil {
		if err != nil {
			return nil, err
		}
		return next.RoundTrip(r)
	}
	if f.done {
		answer, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if err := answer.Body.Close(); err != nil {
			return nil, err
		}
	}
	if f.crash {
		w.cut()
		return nil, errCut
	}
	if f.code == 0 {
		return nil, context.DeadlineExceeded
	}
	return answer(r, f.code), nil
}

// count counts a request, and returns the fault that affects the request, if any.
func (w *wire) count(r *http.Request) (*fault, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.dead {
		return nil, errCut
	}
	namespace, resource := target(r)
	if namespace == "" || resource == "events" {
		return nil, nil //nolint:nilnil // no fault is a valid result
	}
	if w.sent == nil {
		w.sent, w.written = map[string]int{}, map[string]int{}
	}
	w.sent[namespace]++
	if resource != "echoes" && r.Method != http.MethodGet {
		w.written[namespace]++
	}
	if w.fault == nil || w.fault.namespace != namespace {
		return nil, nil //nolint:nilnil // no fault is a valid result
	}
	if w.fault.code == http.StatusNotFound && r.Method == http.MethodGet { // the API server never reports an existing object as missing
		return nil, nil //nolint:nilnil // no fault is a valid result
	}
	if w.after > 0 {
		w.after--
		return nil, nil //nolint:nilnil // no fault is a valid result
	}
	f := w.fault
	w.fault = nil
	return f, nil
}

// arm prepares a fault that affects a request after the given number of other requests.
func (w *wire) arm(f fault, after int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.fault, w.after = &f, after
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

// writes returns how many requests wrote children in a namespace.
func (w *wire) writes(namespace string) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.written[namespace]
}

// successor returns a wire for the next process. The new wire continues the counts.
func (w *wire) successor() *wire {
	w.lock.Lock()
	defer w.lock.Unlock()
	return &wire{sent: maps.Clone(w.sent), written: maps.Clone(w.written), fault: w.fault, after: w.after}
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

// answer returns an error response like the API server's.
func answer(r *http.Request, code int) *http.Response {
	status := metav1.Status{APIVersion: "v1", Kind: "Status", Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasonOf(code), Message: "a fault injected by the test: " + http.StatusText(code)}
	text, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
		ContentLength: int64(len(text))}
}

func reasonOf(code int) metav1.StatusReason {
	return map[int]metav1.StatusReason{
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable, http.StatusGone: metav1.StatusReasonExpired,
	}[code]
}
