// Package describe renders a description of a request, its client, and the server as JSON, text, or a page.
package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

// maxParameters is the maximum number of parsed query parameters that the response shows.
const maxParameters = 200

// Response describes a request. The top-level fields have the same meaning as in the Gateway API conformance suite's echo server, so that
// the suite's client can parse the response. The groups of fields, such as request and client, exist only in this server's responses.
type Response struct {
	Path    string              `json:"path"` // as in the request line, including the query
	Host    string              `json:"host"`
	Method  string              `json:"method"`
	Proto   string              `json:"proto"`
	Headers map[string][]string `json:"headers"`
	Port    string              `json:"httpPort"` // the port on which the server listens
	Identity
	TLS     *TLS             `json:"tls,omitempty"`
	Request Request          `json:"request"`
	Client  Client           `json:"client"`
	Trace   *Trace           `json:"trace,omitempty"`
	Server  Server           `json:"server"`
	Applied exchange.Applied `json:"applied,omitempty"`
}

// Request describes a request.
type Request struct {
	ID            string              `json:"id"`
	Time          time.Time           `json:"time"`
	Query         map[string][]string `json:"query,omitempty"`
	HeaderNames   []string            `json:"headerNames,omitempty"` // as sent; only over HTTP/1
	ContentLength int64               `json:"contentLength"`         // in bytes; -1 if unknown
	Body          *exchange.Body      `json:"body,omitempty"`
	Trailers      map[string][]string `json:"trailers,omitempty"`
	Raw           RawList             `json:"raw,omitempty"` // the values that are not UTF-8
}

// Server describes the server and its pod.
type Server struct {
	Node     string            `json:"node,omitempty"`
	PodIP    string            `json:"podIP,omitempty"`
	HostIP   string            `json:"hostIP,omitempty"`
	Version  string            `json:"version,omitempty"`
	Uptime   string            `json:"uptime,omitempty"`
	Draining bool              `json:"draining,omitempty"`
	Info     map[string]string `json:"info,omitempty"`
}

// Describer describes requests.
type Describer struct {
	Identity       Identity
	ShowIdentity   bool // whether descriptions include the pod, node, addresses, and version
	TrustedProxies []netip.Prefix
	Redaction      Redaction
	Version        string // of the program
	Port           string // without TLS
	Started        time.Time
	Draining       func() bool
}

// Client describes the client that sent a request.
func (d *Describer) Client(r *http.Request) Client {
	c := describeClient(r, d.TrustedProxies)
	if d.Redaction.Adds("X-Forwarded-For") || d.Redaction.Adds("Forwarded") { // the address may come from there
		c.Address = firstUntrusted(c.Remote, nil, nil)
	}
	if !d.ShowIdentity { // the remote address and, unless a trusted proxy reports it, the client's can belong to a proxy in the cluster
		remote, _ := parseNode(c.Remote)
		address, ok := parseNode(c.Address)
		if !ok || address == remote || isTrusted(address, d.TrustedProxies) {
			c.Address = ""
		}
		c.Remote = ""
	}
	return c
}

// Describe describes a request. The description contains only data from the request, the settings, and the state of the server.
func (d *Describer) Describe(e *exchange.Exchange, r *http.Request, applied exchange.Applied, body *exchange.Body) *Response {
	var query url.Values
	if r.URL.RawQuery != "" && strings.Count(r.URL.RawQuery, "&") < maxParameters {
		query, _ = url.ParseQuery(r.URL.RawQuery) // the path still contains the parameters that cannot be parsed
	}
	port := d.Port
	if secure := transport.TLSConnectionOf(r); secure != nil {
		port = secure.Port
	}
	var names []string
	if c := transport.ConnectionOf(r); c != nil {
		names, _ = c.FieldNames(r)
		// A line that continues a value is not a field. The text before its colon may be part of a secret.
		names = slices.DeleteFunc(names, func(name string) bool { return !httpguts.ValidHeaderFieldName(name) })
	}
	a := &Response{
		Path: r.RequestURI, Host: r.Host, Method: r.Method, Proto: r.Proto,
		Headers:  d.Redaction.Apply(r.Header),
		Port:     port,
		Identity: d.Identity,
		TLS:      DescribeTLS(transport.TLSStateOf(r)),
		Request: Request{ID: e.ID, Time: e.Began.UTC(), Query: query, HeaderNames: names, ContentLength: r.ContentLength,
			Body: body, Trailers: d.Redaction.Apply(r.Trailer)},
		Client: d.Client(r),
		Trace:  parseTraceparent(r.Header["Traceparent"]),
		Server: Server{Node: d.Identity.Node, PodIP: d.Identity.PodIP, HostIP: d.Identity.HostIP, Info: d.Identity.Info,
			Version: d.Version, Uptime: time.Since(d.Started).Truncate(time.Second).String(), Draining: d.Draining()},
		Applied: applied,
	}
	// The parsed copies of redacted headers are removed.
	if d.Redaction.Adds("X-Forwarded-For") {
		a.Client.ForwardedFor = nil
	}
	if d.Redaction.Adds("Forwarded") {
		a.Client.Forwarded = nil
	}
	if d.Redaction.Adds("Traceparent") {
		a.Trace = nil
	}
	if !d.ShowIdentity {
		a.Identity = Identity{}
		a.Server = Server{Draining: a.Server.Draining, Info: a.Server.Info} // the other fields identify the server
	}
	a.listRaw()
	return a
}

// listRaw lists the values that are not UTF-8. It must be called after redaction.
func (a *Response) listRaw() {
	list := &a.Request.Raw
	a.Path = list.Add(Raw{Where: "path"}, a.Path)
	a.Host = list.Add(Raw{Where: "host"}, a.Host)
	a.Method = list.Add(Raw{Where: "method"}, a.Method)
	if a.TLS != nil {
		a.TLS.ServerName = list.Add(Raw{Where: "serverName"}, a.TLS.ServerName)
	}
	a.Headers = list.AddFields("header", a.Headers)
	a.Request.Trailers = list.AddFields("trailer", a.Request.Trailers)
	a.Request.Query = list.AddFields("query", a.Request.Query)
}

// maxIndented is the maximum size, in bytes, of indented JSON. People do not read longer JSON, and indenting takes as long as encoding.
const maxIndented = 16 << 10

// CompactJSON returns the response as JSON with a line break at its end. For HTML, markup characters are escaped.
func (a *Response) CompactJSON(forHTML bool) []byte { return a.encode(forHTML, "") }

// IndentedJSON returns indented JSON, or compact JSON if the result would be longer than maxIndented. To choose compact JSON, it usually
// needs only the size, in bytes, of the described data.
func (a *Response) IndentedJSON(described int64) []byte {
	if described <= maxIndented {
		if indented := a.encode(false, " "); len(indented) <= maxIndented { // it may be longer because of escapes
			return indented
		}
	}
	return a.CompactJSON(false)
}

func (a *Response) encode(forHTML bool, indent string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(forHTML)
	encoder.SetIndent("", indent)
	_ = encoder.Encode(a) // writing to a buffer never fails, and all types can be encoded
	return b.Bytes()
}

// MaxBytes returns the maximum size, in bytes, of the description of a request with a body. JSON needs up to six bytes to represent one
// byte. The description contains query parameters and some fields twice, and lists the values that are not UTF-8.
func MaxBytes(e *exchange.Exchange, r *http.Request, b *exchange.Body) int64 {
	const escape = 6
	return escape*(e.DescribedSize(b)+e.HeaderSize+int64(len(r.URL.RawQuery))) + int64(rawCost*mostRaw(r)) + CertificateBytes(r)
}

// CertificateBytes returns the maximum size, in bytes, of the client's certificates in a description.
func CertificateBytes(r *http.Request) (size int64) {
	if state := transport.TLSStateOf(r); state != nil {
		for _, each := range state.PeerCertificates {
			size += int64(2 * len(each.Raw)) // PEM is longer than DER
		}
	}
	return size
}

// Text returns the response as plain text in UTF-8: the request, then the client and the server.
func (a *Response) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\nHost: %s\n", a.Method, a.Path, a.Proto, a.Host)
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		for _, value := range a.Headers[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	b.WriteString("\n")
	a.writeFacts(func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	})
	if body := a.Request.Body; body != nil {
		truncated := map[bool]string{true: ", truncated"}[body.Truncated]
		fmt.Fprintf(&b, "body: %d bytes, sha256 %s, %s%s\n\n%s\n", body.Size, body.SHA256, body.Encoding, truncated, body.Data)
	}
	if utf8.Valid(b.Bytes()) { // nearly always
		return b.Bytes()
	}
	return bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))
}

// writeFacts calls write with the names and values for the text. Values may be empty.
func (a *Response) writeFacts(write func(name, value string)) {
	write("request", a.Request.ID)
	write("client", a.Client.Address)
	write("namespace", a.Namespace)
	write("ingress", a.Ingress)
	write("service", a.Service)
	write("pod", a.Pod)
	write("node", a.Server.Node)
	write("version", a.Server.Version)
	if a.TLS != nil {
		write("tls", a.TLS.Version)
		write("cipher", a.TLS.CipherSuite)
		write("server name", printable(a.TLS.ServerName))
		write("protocol", a.TLS.NegotiatedProtocol)
		if client := a.Client.Certificate; client != nil {
			verified := "not verified"
			if client.Verified {
				verified = "verified"
			}
			write("client certificate", printable(client.Subject)+" ("+verified+")")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Server.Info)) {
		write(name, a.Server.Info[name])
	}
	write("applied", a.Applied.String())
	for _, name := range slices.Sorted(maps.Keys(a.Request.Trailers)) {
		for _, value := range a.Request.Trailers[name] {
			write("trailer "+printable(name), value)
		}
	}
	for i := range a.Request.Raw {
		write("raw", a.Request.Raw[i].String())
	}
}
