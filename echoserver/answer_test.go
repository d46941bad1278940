package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEcho(t *testing.T) {
	server := serve(t, handlerOf(t, "POD_NAMESPACE=ns", "POD_NAME=p-1", "SERVICE_NAME=s", "INGRESS_NAME=i", "NODE_NAME=n",
		"POD_IP=10.1.2.3", "HOST_IP=10.0.0.1", "ECHO_INFO_COLOUR=blue", "ECHO_INFO_=nameless"))
	for proto, client := range clients(t) {
		got := send(t, client, http.MethodPut, server.URL+"/a//b/../c?x=1&x=%20&=3", "hello", "X-Many", "1", "X-Many", "2",
			"Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id", "id-7", "User-Agent", "")
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/json" || got.Proto != proto {
			t.Fatalf("%s: answered %d with %v", proto, got.StatusCode, got.Header)
		}
		a := decode(t, got.body)
		if since := time.Since(a.Request.Time); since < 0 || since > patience {
			t.Errorf("%s: the time is %s", proto, a.Request.Time)
		}
		want := answer{
			Path: "/a//b/../c?x=1&x=%20&=3", Host: strings.TrimPrefix(server.URL, "http://"), Method: "PUT", Proto: proto, Port: "8080",
			Headers: map[string][]string{"X-Many": {"1", "2"}, "Accept-Encoding": {"gzip"}, "Content-Length": {"5"}, "X-Request-Id": {"id-7"},
				"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}},
			identity: identity{Namespace: "ns", Ingress: "i", Service: "s", Pod: "p-1"},
			Request: request{ID: "id-7", Time: a.Request.Time, Query: map[string][]string{"x": {"1", " "}, "": {"3"}}, ContentLength: 5,
				Body: &body{Size: 5, SHA256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", Data: "hello", Encoding: "utf-8"}},
			Client: client127(a.Client.Remote),
			Trace:  &trace{Version: "00", TraceID: "0af7651916cd43dd8448eb211c80319c", ParentID: "b7ad6b7169203331", Sampled: true},
			Server: server0(map[string]string{"COLOUR": "blue", "": "nameless"}, a.Server.Uptime),
		}
		if diff := cmp.Diff(want, a, cmp.AllowUnexported(answer{}, applied{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", proto, diff)
		}
	}
}

func client127(remote string) client { return client{Remote: remote, Address: "127.0.0.1"} }

func server0(info map[string]string, uptime string) server {
	return server{Node: "n", PodIP: "10.1.2.3", HostIP: "10.0.0.1", Version: "dev", Uptime: uptime, Info: info}
}

// TestAnswerJSON holds the answer's own writer to the tags of its types.
func TestAnswerJSON(t *testing.T) {
	size := 3
	odd := "\"\\\n\x00\x7f\xff\u2028<b>&é"
	full := answer{Path: odd, Host: odd, Method: "GET", Proto: "HTTP/1.1", Headers: map[string][]string{"B": {"1", odd}, "A": {}, odd: {""}},
		Port: "8080", identity: identity{Namespace: "a", Ingress: "b", Service: "c", Pod: "d"},
		Request: request{ID: odd, Time: time.Unix(1, 5).UTC(), Query: map[string][]string{"": {odd}}, ContentLength: -1,
			Body: &body{Size: 1 << 40, SHA256: "00", Data: odd, Encoding: "utf-8", Truncated: true}},
		Client:  client{Remote: "r", Address: "a", ForwardedFor: []string{"x", odd}, Forwarded: []forwardedPair{{For: "f", By: "b"}, {Host: "h", Proto: "p"}}},
		Trace:   &trace{Version: "00", TraceID: "1", ParentID: "2", Sampled: true},
		Server:  server{Node: "n", PodIP: "p", HostIP: "h", Version: "v", Uptime: "1s", Draining: true, Info: map[string]string{"b": odd, "a": ""}},
		Applied: &applied{Status: 200, Delay: "1s", SetHeader: []string{"A", odd}, Size: &size, Format: formatText}}
	for name, a := range map[string]answer{"full": full, "empty": {Headers: map[string][]string{}}, "bare groups": {Headers: map[string][]string{},
		Request: request{Body: &body{}}, Trace: &trace{}, Applied: &applied{}}} {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(a); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(a.json(nil))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHardening(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range clients(t) {
		for _, path := range []string{"/", "/?echo.format=html", "/?echo.format=text", "/?echo.status=1", "/?echo.size=9", "/-/livez", "/-/readyz", "/-/ws",
			"/-/body", "/-/other", "/?echo.status=204"} {
			got := send(t, client, http.MethodGet, server.URL+path, "", "Origin", "http://elsewhere.example")
			header := got.Header
			if header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s: %v", proto, path, header)
			}
			if isPage := path == "/?echo.format=html" || path == "/-/ws"; isPage == (header.Get("Content-Security-Policy") == sandbox) {
				t.Errorf("%s %s has the policy %q", proto, path, header.Get("Content-Security-Policy"))
			}
			if got.body != "" && header.Get("Content-Type") == "" {
				t.Errorf("%s %s has no type", proto, path)
			}
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s has %s", proto, path, name)
				}
			}
		}
	}
}

func TestEveryPathIsEchoedButTheReserved(t *testing.T) {
	server := serve(t, handlerOf(t))
	client := clients(t)["HTTP/1.1"]
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, want := range map[string]int{"/": 200, "/livez": 200, "/-": 200, "//double": 200, "/a/../-/x": 200, "/-/livez": 200, "/-/readyz": 200,
		"/-/": 404, "/-/other": 404, "/-//livez": 404, "/-/../x": 404, "/%2D/livez": 200} {
		if got := send(t, client, http.MethodGet, server.URL+path, ""); got.StatusCode != want {
			t.Errorf("%s is answered %d, want %d", path, got.StatusCode, want)
		}
	}
	if got := decode(t, send(t, client, http.MethodOptions, server.URL+"/x", "").body); got.Method != http.MethodOptions {
		t.Errorf("OPTIONS is told as %s", got.Method)
	}
}

func TestHeadAnswersLikeGet(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range clients(t) {
		got := send(t, client, http.MethodHead, server.URL+"/?echo.size=1000", "")
		if got.StatusCode != http.StatusOK || got.ContentLength != 1000 || got.body != "" {
			t.Errorf("%s: %d, %d bytes announced, %q", proto, got.StatusCode, got.ContentLength, got.body)
		}
	}
}

func TestConnectIsRefused(t *testing.T) {
	h := handlerOf(t)
	w := answeredMethod(h, http.MethodConnect)
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("CONNECT is answered %d", w.Code)
	}
}
