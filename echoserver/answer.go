package main

import (
	"net/http"
	"net/url"
	"time"
)

// answer is what is told of a request. Its top level means what it means in the Gateway API conformance suite's echo server,
// whose clients can read it; the groups are this server's own, and the empty ones are left out.
type answer struct {
	Path    string              `json:"path"` // as the request names it, with the query
	Host    string              `json:"host"`
	Method  string              `json:"method"`
	Proto   string              `json:"proto"`
	Headers map[string][]string `json:"headers"`
	Port    string              `json:"httpPort"` // that the server listens on
	identity
	Request request  `json:"request"`
	Client  client   `json:"client"`
	Trace   *trace   `json:"trace,omitempty"`
	Server  server   `json:"server"`
	Applied *applied `json:"applied,omitempty"`
}

type request struct {
	ID            string              `json:"id"`
	Time          time.Time           `json:"time"`
	Query         map[string][]string `json:"query,omitempty"`
	ContentLength int64               `json:"contentLength"` // bytes; -1: the request does not say
	Body          *body               `json:"body,omitempty"`
}

type server struct {
	Node     string            `json:"node,omitempty"`
	PodIP    string            `json:"podIP,omitempty"`
	HostIP   string            `json:"hostIP,omitempty"`
	Version  string            `json:"version"`
	Uptime   string            `json:"uptime"`
	Draining bool              `json:"draining,omitempty"`
	Info     map[string]string `json:"info,omitempty"`
}

// describe tells of a request. Nothing but what the request and the settings hold goes in.
func (h *handler) describe(e *exchange, r *http.Request, wanted *controls, body *body) *answer {
	var query url.Values
	if r.URL.RawQuery != "" {
		query, _ = url.ParseQuery(r.URL.RawQuery) // what cannot be parsed is in the path
	}
	return &answer{
		Path: r.RequestURI, Host: r.Host, Method: r.Method, Proto: r.Proto,
		Headers:  h.redaction.apply(r.Header),
		Port:     h.port,
		identity: h.identity,
		Request: request{ID: e.id, Time: e.began.UTC(), Query: query, ContentLength: r.ContentLength,
			Body: body},
		Client: describeClient(r, h.trustedProxies),
		Trace:  parseTraceparent(r.Header["Traceparent"]),
		Server: server{Node: h.identity.Node, PodIP: h.identity.PodIP, HostIP: h.identity.HostIP, Info: h.identity.Info,
			Version: version, Uptime: time.Since(h.started).Truncate(time.Second).String(),
			Draining: h.life.draining.Load()},
		Applied: wanted.applied(),
	}
}
