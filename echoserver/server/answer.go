package server

import (
	"net/http"
	"net/netip"
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

// describer describes requests. It shows only data of the request and the settings.
type describer struct {
	identity       identity
	showIdentity   bool // whether descriptions include pod, node, addresses and version
	trustedProxies []netip.Prefix
	redaction      redaction
	version        string // of the program
	port           string // without TLS
	started        time.Time
	draining       func() bool
}

// portOf returns the port on which a request came.
func (d *describer) portOf(r *http.Request) string {
	if secure := tlsserver.Of(r); secure != nil {
		return secure.Port()
	}
	return d.port
}

// client describes the client of a request.
func (d *describer) client(r *http.Request) client {
	c := describeClient(r, d.trustedProxies)
	if !d.showIdentity {
		c.hideProxies(d.trustedProxies)
	}
	return c
}

// describe returns the description of a request. It contains only data of the request and the settings.
func (d *describer) describe(e *exchange.Exchange, r *http.Request, applied controls.Applied, body *exchange.Body) *answer {
	var query url.Values
	if r.URL.RawQuery != "" && strings.Count(r.URL.RawQuery, "&") < maxParameters {
		query, _ = url.ParseQuery(r.URL.RawQuery) // path contains what cannot be parsed
	}
	a := &answer{
		Path: r.RequestURI, Host: r.Host, Method: r.Method, Proto: r.Proto,
		Headers:  d.redaction.apply(r.Header),
		Port:     d.portOf(r),
		identity: d.identity,
		TLS:      describeTLS(tlsserver.State(r)),
		Request: request{ID: e.ID, Time: e.Began.UTC(), Query: query, HeaderNames: headerNames(r),
			ContentLength: r.ContentLength, Body: body, Trailers: d.redaction.apply(r.Trailer)},
		Client: d.client(r),
		Trace:  parseTraceparent(r.Header["Traceparent"]),
		Server: server{Node: d.identity.Node, PodIP: d.identity.PodIP, HostIP: d.identity.HostIP, Info: d.identity.Info,
			Version: d.version, Uptime: time.Since(d.started).Truncate(time.Second).String(),
			Draining: d.draining()},
		Applied: applied,
	}
	a.Client.hideRedacted(&d.redaction)
	if d.redaction.adds("Traceparent") {
		a.Trace = nil
	}
	if !d.showIdentity {
		a.hideIdentity()
	}
	return a
}
