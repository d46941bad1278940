package server

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/tlsserver"
)

// maxParameters is the maximum number of parameters of a query that the response shows parsed.
const maxParameters = 200

// answer is the response that describes a request. The top-level fields have the same meaning as in the echo server of the Gateway API
// conformance suite, whose client can parse it. The groups are additions of this server. Empty fields are omitted.
type answer struct {
	Path    string              `json:"path"` // as in the request line, with the query
	Host    string              `json:"host"`
	Method  string              `json:"method"`
	Proto   string              `json:"proto"`
	Headers map[string][]string `json:"headers"`
	Port    string              `json:"httpPort"` // on which the server listens
	identity
	TLS     *tlsAnswer       `json:"tls,omitempty"`
	Request request          `json:"request"`
	Client  client           `json:"client"`
	Trace   *trace           `json:"trace,omitempty"`
	Server  server           `json:"server"`
	Applied controls.Applied `json:"applied,omitempty"`
}

type request struct {
	ID            string              `json:"id"`
	Time          time.Time           `json:"time"`
	Query         map[string][]string `json:"query,omitempty"`
	HeaderNames   []string            `json:"headerNames,omitempty"` // as they were sent, by HTTP/1
	ContentLength int64               `json:"contentLength"`         // in bytes; -1 if unknown
	Body          *exchange.Body      `json:"body,omitempty"`
	Trailers      map[string][]string `json:"trailers,omitempty"`
}

type server struct {
	Node     string            `json:"node,omitempty"`
	PodIP    string            `json:"podIP,omitempty"`
	HostIP   string            `json:"hostIP,omitempty"`
	Version  string            `json:"version,omitempty"`
	Uptime   string            `json:"uptime,omitempty"`
	Draining bool              `json:"draining,omitempty"`
	Info     map[string]string `json:"info,omitempty"`
}

// headerNames returns the names of the fields in the header of a request of HTTP/1 in the order and case in which they were sent.
func headerNames(r *http.Request) []string {
	c := connection.Of(r)
	if c == nil {
		return nil
	}
	names, _ := c.FieldNames(r)
	return names
}

// describe returns the description of a request. It contains only data of the request and the settings.
func (h *handler) describe(e *exchange.Exchange, r *http.Request, applied controls.Applied, body *exchange.Body) *answer {
	var query url.Values
	if r.URL.RawQuery != "" && strings.Count(r.URL.RawQuery, "&") < maxParameters {
		query, _ = url.ParseQuery(r.URL.RawQuery) // path contains what cannot be parsed
	}
	a := &answer{
		Path: r.RequestURI, Host: r.Host, Method: r.Method, Proto: r.Proto,
		Headers:  h.redaction.apply(r.Header),
		Port:     h.portOf(r),
		identity: h.identity,
		TLS:      describeTLS(tlsserver.State(r)),
		Request: request{ID: e.ID, Time: e.Began.UTC(), Query: query, HeaderNames: headerNames(r),
			ContentLength: r.ContentLength, Body: body, Trailers: h.redaction.apply(r.Trailer)},
		Client: describeClient(r, h.trustedProxies),
		Trace:  parseTraceparent(r.Header["Traceparent"]),
		Server: server{Node: h.identity.Node, PodIP: h.identity.PodIP, HostIP: h.identity.HostIP, Info: h.identity.Info,
			Version: h.version, Uptime: time.Since(h.started).Truncate(time.Second).String(),
			Draining: h.life.draining.Load()},
		Applied: applied,
	}
	a.Client.hideRedacted(&h.redaction)
	if h.redaction.adds("Traceparent") {
		a.Trace = nil
	}
	if !h.showIdentity {
		a.hideIdentity(h.trustedProxies)
	}
	return a
}
