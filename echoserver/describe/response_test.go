package describe

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// fullResponse returns a response without empty fields. Some of its strings need escapes.
func fullResponse(t testing.TB) Response {
	r := httptest.NewRequest(http.MethodGet,
		"/?echo.status=200&echo.delay=1s&echo.set-header=A%26:1&echo.set-header=B:1&echo.size=3&echo.format=text&"+
			"echo.early-hints=true&echo.connection=truncate&echo.failures=2", http.NoBody)
	desired, err := controls.NewChooser(controls.Full, controls.Controls{}, nil, func(*http.Request) string { return "" }).For(r, controls.Echo)
	if err != nil {
		t.Fatal(err)
	}
	odd := "\"\\\n\x00\x7f\uFFFD\u2028<b>&é"
	return Response{Path: odd, Host: odd, Method: "GET", Proto: "HTTP/1.1", Headers: map[string][]string{"B": {"1", odd}, "A": {}, odd: {""}},
		Port: "8080", Namespace: "a", Ingress: "b", Service: "c", Pod: "d",
		TLS: &TLS{Version: "TLSv1.3", PeerCertificates: []string{odd, "b"}, ServerName: odd, NegotiatedProtocol: "h2", CipherSuite: "c"},
		Request: Request{ID: odd, Time: time.Unix(1, 5).UTC(), Query: map[string][]string{"": {odd}}, ContentLength: -1,
			HeaderNames: []string{"a", odd},
			Trailers:    map[string][]string{"X-Sum": {"1", odd}},
			Raw:         RawList{{Where: "query", Name: odd, Index: 7, Base64: []byte("\xff")}, {Where: "path"}},
			Body:        &exchange.Body{Size: 1 << 40, SHA256: "00", Data: odd, Encoding: "utf-8", Truncated: true}},
		Client: Client{Remote: "r", Address: "a", ForwardedFor: []string{"x", odd},
			Forwarded: []ForwardedPair{{For: "f", By: "b"}, {Host: "h", Proto: "p"}},
			Certificate: &Certificate{Subject: odd, Issuer: odd, NotBefore: time.Unix(2, 0).UTC(), NotAfter: time.Unix(3, 0).UTC(),
				AlternativeNames: []string{odd, "b"},
				SHA256:           "00", Verified: true}},
		Trace: &Trace{Version: "00", TraceID: "1", ParentID: "2", Sampled: true},
		Server: Server{Node: "n", PodIP: "p", HostIP: "h", Version: "v", Uptime: "1s", Draining: true,
			Info: map[string]string{"b": odd, "a": ""}},
		Applied: desired.Applied()}
}

// decodedResponse decodes the applied controls into a map, because controls.Applied cannot be decoded.
type decodedResponse struct {
	Response
	Applied map[string]any `json:"applied"`
}

// TestResponse_JSON writes a response in each form and reads it back. The response contains strings that need escapes.
func TestResponse_JSON(t *testing.T) {
	want := fullResponse(t)
	for name, data := range map[string][]byte{"compact": want.CompactJSON(false), "for HTML": want.CompactJSON(true),
		"indented": want.IndentedJSON(0)} {
		var got decodedResponse
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.Applied) != 8 {
			t.Errorf("%s: the applied controls are %v", name, got.Applied)
		}
		got.Response.Applied = want.Applied
		if diff := cmp.Diff(want, got.Response, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if lines := bytes.Count(data, []byte("\n")); lines > 1 != (name == "indented") || data[len(data)-1] != '\n' {
			t.Errorf("%s: it has %d lines, the last of which ends with %q", name, lines, data[len(data)-1])
		}
		if markup := bytes.ContainsAny(data, "<>&"); markup != (name != "for HTML") {
			t.Errorf("%s: markup: %t", name, markup)
		}
	}
}

// TestResponse_compactsLongJSON checks JSON that is long only because of its escapes.
func TestResponse_compactsLongJSON(t *testing.T) {
	a := Response{Path: strings.Repeat("\x01", maxIndented/5)}
	if got := a.IndentedJSON(int64(len(a.Path))); bytes.Count(got, []byte("\n")) != 1 || len(got) < maxIndented {
		t.Errorf("it has %d bytes: %.100s", len(got), got)
	}
}

func TestResponse_text(t *testing.T) {
	bare := Response{Method: "GET", Path: "/", Proto: "HTTP/1.1", Host: "h", Request: Request{ID: "7"}, Client: Client{Remote: "r"},
		Server: Server{Version: "v"}}
	const begin, end = "GET / HTTP/1.1\nHost: h\n", "\nrequest: 7\nversion: v\n"
	for name, c := range map[string]struct {
		change func(*Response)
		want   string
	}{
		"headers are sorted by name, values are not": {func(a *Response) { a.Headers = map[string][]string{"B": {"2", "1"}, "A": {""}, "C": {}} },
			begin + "A: \nB: 2\nB: 1\n" + end},
		"the client's address and not the connection's": {func(a *Response) { a.Client.Address = "192.0.2.1" },
			begin + "\nrequest: 7\nclient: 192.0.2.1\nversion: v\n"},
		"the place in the cluster": {func(a *Response) {
			a.Identity = Identity{Namespace: "ns", Ingress: "i", Service: "s", Pod: "p"}
			a.Server.Node, a.Server.Info = "n", map[string]string{"b": "2", "a": "1", "c": ""}
		}, begin + "\nrequest: 7\nnamespace: ns\ningress: i\nservice: s\npod: p\nnode: n\nversion: v\na: 1\nb: 2\n"},
		"TLS": {func(a *Response) {
			a.TLS = &TLS{Version: "TLSv1.3", CipherSuite: "c", ServerName: "a\nb", NegotiatedProtocol: "h2"}
			a.Client.Certificate = &Certificate{Subject: "CN=a"}
		}, begin + end + "tls: TLSv1.3\ncipher: c\nserver name: \"a\\nb\"\nprotocol: h2\nclient certificate: CN=a (not verified)\n"},
		"controls": {func(a *Response) {
			a.Applied = controls.Controls{Status: 503, Headers: []controls.Header{{Name: "X-A"}, {Name: "X-B"}}}.Applied()
		},
			begin + end + "applied: status=503, set-header=X-A, set-header=X-B\n"},
		"trailers": {func(a *Response) {
			a.Request.Trailers = map[string][]string{"X-B": {"2"}, "X-A": {"1", ""}, "X-Unsent": nil}
		},
			begin + end + "trailer X-A: 1\ntrailer X-B: 2\n"},
		"what is not UTF-8": {func(a *Response) {
			a.Path, a.Host = "/\xe9", "\xff"
			a.Headers = map[string][]string{"A": {"caf\xe9", "\uFFFD", "\xe2\x82"}}
			a.Request.Trailers = map[string][]string{"B": {"\xfe\xff"}}
			a.Request.Query = map[string][]string{"q\n": {"", "\xe9"}, "\xff": {"1", "\xff"}}
			a.listRaw()
		},
			"GET /\uFFFD HTTP/1.1\nHost: \uFFFD\nA: caf\uFFFD\nA: \uFFFD\nA: \uFFFD\n" + end +
				"trailer B: \uFFFD\n" +
				"raw: where=path; index=0; base64=L+k=\n" +
				"raw: where=host; index=0; base64=/w==\n" +
				"raw: where=header; name=A; index=0; base64=Y2Fm6Q==\n" +
				"raw: where=header; name=A; index=2; base64=4oI=\n" +
				"raw: where=trailer; name=B; index=0; base64=/v8=\n" +
				"raw: where=query; name=\"q\\n\"; index=1; base64=6Q==\n" +
				"raw: where=query; name=\uFFFD; index=1; base64=/w==\n"},
		"a truncated body has its whole size": {func(a *Response) {
			a.Request.Body = &exchange.Body{Size: 1 << 40, SHA256: "00", Data: "a\nb", Encoding: "utf-8", Truncated: true}
		},
			begin + end + "body: 1099511627776 bytes, sha256 00, utf-8, truncated\n\na\nb\n"},
	} {
		a := bare
		c.change(&a)
		if diff := cmp.Diff(c.want, string(a.Text())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
