package describe

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// TestResponse_JSON checks the form of short JSON, and of JSON that is long only because of its escapes.
func TestResponse_JSON(t *testing.T) {
	short, long := Response{Path: "/<b>&", Pod: "p"}, Response{Path: strings.Repeat("\x01", maxIndented/5)}
	for name, c := range map[string]struct {
		data  []byte
		begin string
		lines int
	}{
		"compact":        {short.CompactJSON(false), `{"path":"/<b>&",`, 1},
		"for HTML":       {short.CompactJSON(true), `{"path":"/\u003cb\u003e\u0026",`, 1},
		"indented":       {short.IndentedJSON(0), "{\n \"path\": \"/<b>&\",\n", bytes.Count(short.IndentedJSON(0), []byte("\n"))},
		"long":           {long.IndentedJSON(int64(len(long.Path))), `{"path":"`, 1},
		"long to encode": {short.IndentedJSON(maxIndented + 1), `{"path":"`, 1},
	} {
		if !strings.HasPrefix(string(c.data), c.begin) || bytes.Count(c.data, []byte("\n")) != c.lines || !json.Valid(c.data) {
			t.Errorf("%s: the JSON is %.200s", name, c.data)
		}
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
			a.Method, a.Path, a.Host = "G\xe9T", "/\xe9", "\xff"
			a.Headers = map[string][]string{"A": {"caf\xe9", "\uFFFD", "\xe2\x82"}}
			a.Request.Trailers = map[string][]string{"B": {"\xfe\xff"}}
			a.Request.Query = map[string][]string{"q\n": {"", "\xe9"}, "\xff": {"1", "\xff"}}
			a.listRaw()
		},
			"G\uFFFDT /\uFFFD HTTP/1.1\nHost: \uFFFD\nA: caf\uFFFD\nA: \uFFFD\nA: \uFFFD\n" + end +
				"trailer B: \uFFFD\n" +
				"raw: where=path; index=0; base64=L+k=\n" +
				"raw: where=host; index=0; base64=/w==\n" +
				"raw: where=method; index=0; base64=R+lU\n" +
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
