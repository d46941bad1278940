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
	desired, err := controls.NewChooser(controls.Full, controls.Controls{}, nil, func(*http.Request) string { return "" }).For(r)
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
