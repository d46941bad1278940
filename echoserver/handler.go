package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody is the largest request body that is read.
const maxBody = 8 << 20

// statusClientClosedRequest is what the log says of a client that did not wait for its answer.
const statusClientClosedRequest = 499

// identity is the server's own place in the cluster.
type identity struct {
	Namespace string `json:"namespace,omitempty"`
	Ingress   string `json:"ingress,omitempty"`
	Service   string `json:"service,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Node      string `json:"-"`
	PodIP     string `json:"-"`
	HostIP    string `json:"-"`
}

// answer is what a request is answered with. Its top level means what it means in the Gateway API conformance echo.
type answer struct {
	Path    string              `json:"path"`
	Host    string              `json:"host"`
	Method  string              `json:"method"`
	Proto   string              `json:"proto"`
	Headers map[string][]string `json:"headers"`
	identity
	Request request `json:"request"`
	Client  client  `json:"client"`
	Server  server  `json:"server"`
}

type request struct {
	Query    string `json:"query,omitempty"`
	BodySize int64  `json:"bodySize"`
}

type client struct {
	RemoteAddress string `json:"remoteAddress"`
}

type server struct {
	Node     string `json:"node,omitempty"`
	PodIP    string `json:"podIP,omitempty"`
	HostIP   string `json:"hostIP,omitempty"`
	Draining bool   `json:"draining,omitempty"`
}

// handler answers every path. The prefix /-/ is its own.
type handler struct {
	mux      *http.ServeMux
	identity identity
	response response
	log      *slog.Logger
	draining atomic.Bool
}

func newHandler(identity identity, response response, log *slog.Logger) *handler {
	h := &handler{mux: http.NewServeMux(), identity: identity, response: response, log: log}
	h.mux.HandleFunc("/-/", http.NotFound)
	h.mux.HandleFunc("/-/livez", func(w http.ResponseWriter, _ *http.Request) { health(w, true) })
	h.mux.HandleFunc("/-/readyz", func(w http.ResponseWriter, _ *http.Request) { health(w, !h.draining.Load()) })
	return h
}

// ServeHTTP implements http.Handler. The mux serves only the reserved prefix: it would redirect paths that must be echoed.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if h.draining.Load() {
		header.Set("Connection", "close") // the client's next request finds another pod
	}
	if strings.HasPrefix(r.URL.Path, "/-/") {
		h.mux.ServeHTTP(w, r)
		return
	}
	started := time.Now()
	status := h.echo(w, r)
	h.log.Info("request", "method", r.Method, "path", r.URL.Path, "status", status,
		"remote", r.RemoteAddr, "duration", time.Since(started).String())
}

// echo answers a request with what reached the server, and returns the status that it answered.
func (h *handler) echo(w http.ResponseWriter, r *http.Request) int {
	size, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "The body is larger than 8 MiB.", http.StatusRequestEntityTooLarge)
		return http.StatusRequestEntityTooLarge
	}
	if err != nil {
		http.Error(w, "The body could not be read.", http.StatusBadRequest)
		return http.StatusBadRequest
	}
	status, there := h.response.begin(w, r)
	if !there {
		return statusClientClosedRequest
	}
	if h.response.body != "" {
		_, _ = io.WriteString(w, h.response.body)
		return status
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	// The client may be gone; there is nobody left to tell.
	_ = encoder.Encode(answer{
		Path: r.RequestURI, Host: r.Host, Method: r.Method, Proto: r.Proto, Headers: r.Header,
		identity: h.identity,
		Request:  request{Query: r.URL.RawQuery, BodySize: size},
		Client:   client{RemoteAddress: r.RemoteAddr},
		Server: server{Node: h.identity.Node, PodIP: h.identity.PodIP, HostIP: h.identity.HostIP,
			Draining: h.draining.Load()},
	})
	return status
}

func health(w http.ResponseWriter, healthy bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "draining\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
