package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// dialWebSocket opens a WebSocket, and returns the header of the response to the handshake.
func dialWebSocket(t *testing.T, url string, options *websocket.DialOptions) (*websocket.Conn, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), echotest.Patience)
	t.Cleanup(cancel)
	connection, response, err := websocket.Dial(ctx, url, options)
	if err != nil || response.Body != nil && response.Body.Close() != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.CloseNow() })
	return connection, response.Header
}

// readHandshake returns the echo of a handshake, which must be the next message, and the message.
func readHandshake(t *testing.T, connection *websocket.Conn) (decoded, string) {
	t.Helper()
	kind, message, err := connection.Read(t.Context())
	if err != nil || kind != websocket.MessageText || !utf8.Valid(message) || bytes.HasSuffix(message, []byte("\n")) {
		t.Fatalf("the message is %q, %v", message, err)
	}
	return decode(t, string(message)), string(message)
}

// TestEchoHandshake sends the headers that proxies add, including one with a secret.
func TestEchoHandshake(t *testing.T) {
	h := handlerOf(t, "ECHO_REDACT_HEADERS=Sec-WebSocket-Protocol", "ECHO_TRUSTED_PROXIES=127.0.0.1", "ECHO_RESPONSE_STATUS=503")
	const target = "/shop/-/ws?echo.handshake=true&q=%E9"
	connection, header := dialWebSocket(t, serve(t, h).URL+target, &websocket.DialOptions{
		Subprotocols: []string{"bearer", "hunter2"}, HTTPHeader: http.Header{"Origin": {"https://shop.example"}, "Cookie": {"a=hunter2"},
			"X-Forwarded-Proto": {"wss"}, "X-Forwarded-For": {"203.0.113.7"}, "X-Name": {latin1}, "X-Request-Id": {"id-7"}}})
	if got := header.Get("X-Echo-Applied"); got != "handshake=true" || counted(h.metrics.controls, "handshake") != 1 {
		t.Errorf("the applied controls are %q, %d are counted", got, counted(h.metrics.controls, "handshake"))
	}
	echo, message := readHandshake(t, connection)
	for name, want := range map[string]string{"Origin": "https://shop.example", "X-Forwarded-Proto": "wss", "Connection": "Upgrade",
		"Upgrade": "websocket", "Sec-Websocket-Version": "13", "X-Name": "caf\uFFFD"} {
		if got := echo.Headers[name]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	want := describe.RawList{{Where: "header", Name: "X-Name", Base64: []byte(latin1)}, {Where: "query", Name: "q", Base64: []byte("\xe9")}}
	if diff := cmp.Diff(want, echo.Request.Raw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(message, "hunter2") || echo.Path != target || echo.Client.Address != "203.0.113.7" || echo.Request.ID != "id-7" ||
		echo.Applied["handshake"] != true || echo.Request.Body != nil {
		t.Errorf("the message is %s", message)
	}
	if err := connection.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := connection.Read(t.Context()); err != nil || string(got) != "hello" {
		t.Errorf("then comes %q, %v", got, err)
	}
	_ = connection.CloseNow()
	echotest.Until(t, "it is counted and released", func() bool {
		return counted(h.metrics.requests, "http", "HTTP/1.1", "GET", "101") == 1 && held(t, h) == 0
	})
}

// TestEchoHandshake_hidesIdentityFromOtherOrigins checks that a handshake echo reveals where the server runs only to clients that can read
// ordinary echoes.
func TestEchoHandshake_hidesIdentityFromOtherOrigins(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		origin  string // "" means no header
		shown   bool
	}{
		"no page":                  {nil, "", true},
		"a page of the server":     {nil, "https://a", true},
		"a page of another origin": {nil, "https://evil.example", false},
		"a page without an origin": {nil, "null", false},
		"an origin that is no URL": {nil, "https://a:b", false},
		"a name that begins alike": {nil, "https://a.evil.example", false},
		"Full, another origin":     {[]string{"ECHO_CONTROLS=Full"}, "https://evil.example", true},
		"the setting":              {[]string{"ECHO_IDENTITY=false"}, "", false},
		"the setting, Full":        {[]string{"ECHO_IDENTITY=false", "ECHO_CONTROLS=Full"}, "", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://a/-/ws?echo.handshake=true", http.NoBody)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		text, _, ok := handlerOf(t, append(c.environ, "ECHO_POD_NAME=pod-1")...).echoHandshake(exchange.New(httptest.NewRecorder(), r), r,
			&controls.Controls{Handshake: true})
		if echo := decode(t, string(text)); !ok || (echo.Pod != "") != c.shown || (echo.Client.Remote != "") != c.shown {
			t.Errorf("%s: the message is %s", name, text)
		}
	}
}

func TestEchoHandshake_rejectsInvalidRequests(t *testing.T) {
	for target, c := range map[string]struct {
		memory int64
		status int
		why    string
	}{
		"/-/ws?echo.handshake=maybe": {1 << 20, http.StatusBadRequest, `echo.handshake: "maybe" is neither true nor false`},
		"/-/ws?echo.handshake=true":  {0, http.StatusServiceUnavailable, transport.OverBudget},
	} {
		h := handlerOf(t)
		h.budget.Requests.Limit = h.budget.Requests.Used.Load() + c.memory
		w := echotest.Record(h, target, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key",
			"dGhlIHNhbXBsZSBub25jZQ==")
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.why) {
			t.Errorf("%s: the response is %d %s", target, w.Code, w.Body)
		}
	}
}

// TestLogHandshake requests WebSockets with invalid handshakes. At the debug level, the server must log the headers of only these requests.
func TestLogHandshake(t *testing.T) {
	for target, isLogged := range map[string]bool{"/-/ws?q=%E9": true, "/shop/-/ws": true, "/": false} {
		for level, isDebug := range map[string]bool{"debug": true, "info": false} {
			h, log := loggedHandler(t, "ECHO_LOG_LEVEL="+level)
			echotest.Record(h, target, "Upgrade", "websocket", "X-Forwarded-Proto", "wss", "X-Name", latin1, "Authorization",
				"Bearer hunter2\xe9")
			var line struct {
				Level, Msg, ID string
				Echo           decoded
			}
			if err := json.NewDecoder(strings.NewReader(log.String())).Decode(&line); err != nil {
				t.Fatal(err)
			}
			if got := line.Msg == "handshake"; got != (isLogged && isDebug) || strings.Contains(log.String(), "hunter2") ||
				strings.Contains(log.String(), "X-Forwarded-Proto") != got {
				t.Errorf("%s, %s: the log is %s", level, target, log)
			} else if got && (line.Level != "DEBUG" || line.ID != line.Echo.Request.ID || line.Echo.Path != target ||
				string(line.Echo.Request.Raw[0].Base64) != latin1) {
				t.Errorf("%s: the line is %s", target, log)
			}
		}
	}
}
