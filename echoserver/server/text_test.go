package server

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/echotest"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

func TestAnswerText(t *testing.T) {
	bare := answer{Method: "GET", Path: "/", Proto: "HTTP/1.1", Host: "h", Request: request{ID: "7"}, Client: client{Remote: "r"}, Server: server{Version: "v"}}
	const begin, end = "GET / HTTP/1.1\nHost: h\n", "\nrequest: 7\nversion: v\n"
	for name, c := range map[string]struct {
		change func(*answer)
		want   string
	}{
		"nothing optional": {func(*answer) {}, begin + end},
		"headers are sorted by name, values are not": {func(a *answer) { a.Headers = map[string][]string{"B": {"2", "1"}, "A": {""}, "C": {}} },
			begin + "A: \nB: 2\nB: 1\n" + end},
		"the client's address and not the connection's": {func(a *answer) { a.Client.Address = "192.0.2.1" },
			begin + "\nrequest: 7\nclient: 192.0.2.1\nversion: v\n"},
		"the place in the cluster": {func(a *answer) {
			a.identity = identity{Namespace: "ns", Ingress: "i", Service: "s", Pod: "p"}
			a.Server.Node = "n"
		}, begin + "\nrequest: 7\nnamespace: ns\ningress: i\nservice: s\npod: p\nnode: n\nversion: v\n"},
		"information is sorted, empty values are omitted": {func(a *answer) { a.Server.Info = map[string]string{"b": "2", "a": "1", "c": ""} },
			begin + "\nrequest: 7\nversion: v\na: 1\nb: 2\n"},
		"TLS": {func(a *answer) { a.TLS = &tlsAnswer{Version: "TLSv1.2", CipherSuite: "c", ServerName: "a\nb"} },
			begin + end + "tls: TLSv1.2\ncipher: c\nserver name: \"a\\nb\"\n"},
		"a client's certificate": {func(a *answer) {
			a.TLS = &tlsAnswer{Version: "TLSv1.3", CipherSuite: "c", ServerName: "s", NegotiatedProtocol: "h2"}
			a.Client.Certificate = &certificate{Subject: "CN=a"}
		}, begin + end + "tls: TLSv1.3\ncipher: c\nserver name: s\nprotocol: h2\nclient certificate: CN=a (not verified)\n"},
		"a verified certificate": {func(a *answer) {
			a.TLS = &tlsAnswer{Version: "TLSv1.3", CipherSuite: "c"}
			a.Client.Certificate = &certificate{Subject: "CN=a", Verified: true}
		}, begin + end + "tls: TLSv1.3\ncipher: c\nclient certificate: CN=a (verified)\n"},
		"controls": {func(a *answer) {
			a.Applied = controls.Controls{Status: 503, Headers: []controls.Header{{Name: "X-A"}, {Name: "X-B"}}}.Applied()
		},
			begin + end + "applied: status=503, set-header=X-A, set-header=X-B\n"},
		"a body": {func(a *answer) {
			a.Request.Body = &exchange.Body{Size: 5, SHA256: "2cf2", Data: "hello", Encoding: "utf-8"}
		},
			begin + end + "body: 5 bytes, sha256 2cf2\n\nhello\n"},
		"a truncated body has its whole size": {func(a *answer) {
			a.Request.Body = &exchange.Body{Size: 1 << 40, SHA256: "00", Data: "a\nb", Encoding: "utf-8", Truncated: true}
		},
			begin + end + "body: 1099511627776 bytes, sha256 00\n\na\nb\n"},
	} {
		a := bare
		c.change(&a)
		if diff := cmp.Diff(c.want, string(a.text())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTextOfRequest sends a body, which a request without one does not show.
func TestTextOfRequest(t *testing.T) {
	server := serve(t, handlerOf(t, "POD_NAMESPACE=ns", "INGRESS_NAME=i", "SERVICE_NAME=s", "POD_NAME=p", "NODE_NAME=n",
		"ECHO_INFO_COLOUR=blue"))
	for proto, client := range echotest.Clients(t) {
		for name, c := range map[string]struct{ body, end string }{
			"text":   {"hello", "body: 5 bytes, sha256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\n\nhello\n"},
			"binary": {"\xff\x00", "body: 2 bytes, sha256 ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f\n\n/wA=\n"},
		} {
			got := echotest.Send(t, client, http.MethodPut, server.URL+"/a?b=c", c.body, "Accept", "text/plain", "X-Request-Id", "id", "User-Agent", "", "X-A", "1")
			want := "PUT /a?b=c " + proto + "\nHost: " + strings.TrimPrefix(server.URL, "http://") + "\nAccept: text/plain\nAccept-Encoding: gzip\nContent-Length: " +
				strconv.Itoa(len(c.body)) + "\nX-A: 1\nX-Request-Id: id\n\n" +
				"request: id\nclient: 127.0.0.1\nnamespace: ns\ningress: i\nservice: s\npod: p\nnode: n\nversion: dev\nCOLOUR: blue\n" + c.end
			if diff := cmp.Diff(want, got.Text); diff != "" || got.Header.Get("Content-Type") != connection.PlainText {
				t.Errorf("%s, %s: the type is %s (-want +got):\n%s", proto, name, got.Header.Get("Content-Type"), diff)
			}
		}
	}
}
