package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestEcho_hidesIdentityIfDisabled checks that without identity, no response format reveals where the server runs.
func TestEcho_hidesIdentityIfDisabled(t *testing.T) {
	environ := []string{"POD_NAME=a-pod", "POD_NAMESPACE=a-namespace", "POD_IP=10.1.1.1", "NODE_NAME=a-node", "HOST_IP=10.2.2.2",
		"SERVICE_NAME=a-service", "INGRESS_NAME=an-ingress", "ECHO_INFO_COLOR=blue"}
	secrets := []string{"a-pod", "a-namespace", "10.1.1.1", "a-node", "10.2.2.2", "a-service", "an-ingress", `"version"`, "version: ",
		`"uptime"`, "192.0.2.1"}
	for _, format := range []string{"json", "text", "html"} {
		shown := echotest.Record(handlerOf(t, environ...), "/?echo.format="+format).Body.String()
		hidden := echotest.Record(handlerOf(t, append(environ, "ECHO_IDENTITY=false")...), "/?echo.format="+format).Body.String()
		for _, secret := range secrets {
			if strings.Contains(hidden, secret) {
				t.Errorf("%s: %s is shown", format, secret)
			}
		}
		if !strings.Contains(hidden, "blue") || !strings.Contains(shown, "a-pod") {
			t.Errorf("%s: with identity %s, without %s", format, shown, hidden)
		}
	}
	if got := decode(t, echotest.Record(handlerOf(t, "ECHO_IDENTITY=false"), "/").Body.String()); got.Port != "8080" || got.Request.ID == "" {
		t.Errorf("too much is hidden: %+v", got)
	}
}

func TestEcho_redactsSecretsInEachFormat(t *testing.T) {
	h := handlerOf(t)
	for _, format := range []string{"json", "text", "html"} {
		got := echotest.Record(h, "/?echo.format="+format, "Authorization", "Bearer hunter2", "Cookie", "a=hunter2", "Proxy-Authorization",
			"hunter2", "X-Api-Key", "hunter2")
		if strings.Contains(got.Body.String(), "hunter2") || !strings.Contains(got.Body.String(), "[redacted: ") {
			t.Errorf("%s: %s", format, got.Body)
		}
	}
}

// TestEcho_redactsCopiesOfHeaders checks that data parsed or derived from a redacted header does not reveal its value.
func TestEcho_redactsCopiesOfHeaders(t *testing.T) {
	h := handlerOf(t, "ECHO_REDACT_HEADERS=X-Forwarded-For,Forwarded,Traceparent,X-Request-Id")
	w := echotest.Record(h, "/", "X-Forwarded-For", "192.0.2.77", "Forwarded", "for=192.0.2.78", "Traceparent",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id", "secret-id")
	for _, secret := range []string{"192.0.2.77", "192.0.2.78", "0af7651916cd43dd8448eb211c80319c", "secret-id"} {
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the description is %s", secret, w.Body)
		}
	}
}

// TestEcho_reportsClientBehindTrustedProxies sends requests from 127.0.0.1 over real connections, and checks how the responses describe the
// client.
func TestEcho_reportsClientBehindTrustedProxies(t *testing.T) {
	for name, c := range map[string]struct {
		trusted string
		headers []string
		want    describe.Client
	}{
		"none trusted": {"", []string{"X-Forwarded-For", "203.0.113.7"},
			describe.Client{Address: "127.0.0.1", ForwardedFor: []string{"203.0.113.7"}}},
		"X-Forwarded-For": {"127.0.0.0/8,10.0.0.0/8", []string{"X-Forwarded-For", "1.1.1.1, 203.0.113.7", "X-Forwarded-For", "10.1.1.1"},
			describe.Client{Address: "203.0.113.7", ForwardedFor: []string{"1.1.1.1", "203.0.113.7", "10.1.1.1"}}},
		"Forwarded": {"127.0.0.1", []string{"Forwarded", `for="[2001:db8::7]:4711";proto=https;host=example.com;by=10.0.0.1`},
			describe.Client{Address: "2001:db8::7",
				Forwarded: []describe.ForwardedPair{{For: "[2001:db8::7]:4711", Proto: "https", Host: "example.com", By: "10.0.0.1"}}}},
		"Forwarded with a parameter twice": {"127.0.0.1", []string{"Forwarded", "for=1.1.1.1;for=2.2.2.2"},
			describe.Client{Address: "127.0.0.1"}},
		"Forwarded of a proxy that hides its client": {"127.0.0.1", []string{"Forwarded", "for=6.6.6.6, x=y"},
			describe.Client{Forwarded: []describe.ForwardedPair{{For: "6.6.6.6"}, {}}}},
		"both": {"127.0.0.1", []string{"Forwarded", "for=6.6.6.6", "X-Forwarded-For", "203.0.113.7"},
			describe.Client{Address: "203.0.113.7", ForwardedFor: []string{"203.0.113.7"}, Forwarded: []describe.ForwardedPair{{For: "6.6.6.6"}}}},
	} {
		server := serve(t, handlerOf(t, "ECHO_TRUSTED_PROXIES="+c.trusted))
		for proto, sender := range echotest.Clients(t) {
			got := decode(t, echotest.Send(t, sender, http.MethodGet, server.URL, "", c.headers...).Text).Client
			c.want.Remote = got.Remote
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, proto, diff)
			}
		}
	}
}

// TestEcho_hidesProxiesWithoutIdentity sends requests from 192.0.2.1. A response must show a client's address only if a trusted proxy
// reports it.
func TestEcho_hidesProxiesWithoutIdentity(t *testing.T) {
	for name, c := range map[string]struct{ trusted, forwarded, want string }{
		"no trusted proxy":             {"", "10.0.0.1", ""},
		"a client":                     {"192.0.2.1", "203.0.113.5", "203.0.113.5"},
		"a client of several":          {"192.0.2.1,10.0.0.0/8", "203.0.113.5, 10.0.0.2", "203.0.113.5"},
		"only trusted proxies":         {"192.0.2.1,10.0.0.0/8", "10.0.0.1, 10.0.0.2", ""},
		"a trusted proxy that is mute": {"192.0.2.1", "", ""},
		"a client that is hidden":      {"192.0.2.1", "unknown", ""},
	} {
		h := handlerOf(t, "ECHO_IDENTITY=false", "ECHO_TRUSTED_PROXIES="+c.trusted)
		got := decode(t, echotest.Record(h, "/", "X-Forwarded-For", c.forwarded).Body.String()).Client
		if got.Address != c.want || got.Remote != "" {
			t.Errorf("%s: the client is %+v, want %q", name, got, c.want)
		}
	}
}
