package describe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

func TestResponse_text(t *testing.T) {
	bare := Response{Method: "GET", Path: "/", Proto: "HTTP/1.1", Host: "h", Request: Request{ID: "7"}, Client: Client{Remote: "r"},
		Server: Server{Version: "v"}}
	const begin, end = "GET / HTTP/1.1\nHost: h\n", "\nrequest: 7\nversion: v\n"
	for name, c := range map[string]struct {
		change func(*Response)
		want   string
	}{
		"nothing optional": {func(*Response) {}, begin + end},
		"headers are sorted by name, values are not": {func(a *Response) { a.Headers = map[string][]string{"B": {"2", "1"}, "A": {""}, "C": {}} },
			begin + "A: \nB: 2\nB: 1\n" + end},
		"the client's address and not the connection's": {func(a *Response) { a.Client.Address = "192.0.2.1" },
			begin + "\nrequest: 7\nclient: 192.0.2.1\nversion: v\n"},
		"the place in the cluster": {func(a *Response) {
			a.Identity = Identity{Namespace: "ns", Ingress: "i", Service: "s", Pod: "p"}
			a.Server.Node = "n"
		}, begin + "\nrequest: 7\nnamespace: ns\ningress: i\nservice: s\npod: p\nnode: n\nversion: v\n"},
		"information is sorted, empty values are omitted": {func(a *Response) { a.Server.Info = map[string]string{"b": "2", "a": "1", "c": ""} },
			begin + "\nrequest: 7\nversion: v\na: 1\nb: 2\n"},
		"TLS": {func(a *Response) { a.TLS = &TLS{Version: "TLSv1.2", CipherSuite: "c", ServerName: "a\nb"} },
			begin + end + "tls: TLSv1.2\ncipher: c\nserver name: \"a\\nb\"\n"},
		"a client's certificate": {func(a *Response) {
			a.TLS = &TLS{Version: "TLSv1.3", CipherSuite: "c", ServerName: "s", NegotiatedProtocol: "h2"}
			a.Client.Certificate = &Certificate{Subject: "CN=a"}
		}, begin + end + "tls: TLSv1.3\ncipher: c\nserver name: s\nprotocol: h2\nclient certificate: CN=a (not verified)\n"},
		"a verified certificate": {func(a *Response) {
			a.TLS = &TLS{Version: "TLSv1.3", CipherSuite: "c"}
			a.Client.Certificate = &Certificate{Subject: "CN=a", Verified: true}
		}, begin + end + "tls: TLSv1.3\ncipher: c\nclient certificate: CN=a (verified)\n"},
		"controls": {func(a *Response) {
			a.Applied = controls.Controls{Status: 503, Headers: []controls.Header{{Name: "X-A"}, {Name: "X-B"}}}.Applied()
		},
			begin + end + "applied: status=503, set-header=X-A, set-header=X-B\n"},
		"a body": {func(a *Response) {
			a.Request.Body = &exchange.Body{Size: 5, SHA256: "2cf2", Data: "hello", Encoding: "utf-8"}
		},
			begin + end + "body: 5 bytes, sha256 2cf2, utf-8\n\nhello\n"},
		"a body that is not text": {func(a *Response) {
			a.Request.Body = &exchange.Body{Size: 2, SHA256: "b413", Data: "AAE=", Encoding: "base64"}
		},
			begin + end + "body: 2 bytes, sha256 b413, base64\n\nAAE=\n"},
		"a body that looks like base64": {func(a *Response) {
			a.Request.Body = &exchange.Body{Size: 4, SHA256: "4512", Data: "AAE=", Encoding: "utf-8"}
		},
			begin + end + "body: 4 bytes, sha256 4512, utf-8\n\nAAE=\n"},
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
