package server

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestEchoHandshake sends handshakes that request an echo in each supported form, and handshakes that request none.
func TestEchoHandshake(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		target  string
		headers []string
		echoed  bool
	}{
		"no control":                  {nil, "/-/ws", nil, false},
		"by query":                    {nil, "/-/ws?echo.handshake=true", nil, true},
		"by header":                   {nil, "/-/ws", []string{"X-Echo-Handshake", "true"}, true},
		"under a prefix":              {nil, "/shop/-/ws?a=b&echo.handshake=true", nil, true},
		"escaped":                     {nil, "/-/ws?%65cho.handshake=%74rue", nil, true},
		"the query goes first":        {nil, "/-/ws?echo.handshake=false", []string{"X-Echo-Handshake", "true"}, false},
		"false":                       {nil, "/-/ws?echo.handshake=false", nil, false},
		"Full":                        {[]string{"ECHO_CONTROLS=Full"}, "/-/ws?echo.handshake=true", nil, true},
		"None":                        {[]string{"ECHO_CONTROLS=None"}, "/-/ws?echo.handshake=true", []string{"X-Echo-Handshake", "true"}, false},
		"None, an invalid value":      {[]string{"ECHO_CONTROLS=None"}, "/-/ws?echo.handshake=maybe", nil, false},
		"other controls":              {nil, "/-/ws?echo.status=1&echo.delay=30s", []string{"X-Echo-Size", "x"}, false},
		"with other controls":         {nil, "/-/ws?echo.status=1&echo.handshake=true", nil, true},
		"a fixed body":                {[]string{"ECHO_RESPONSE_BODY=gone"}, "/-/ws?echo.handshake=true", nil, true},
		"defaults apply only to HTTP": {[]string{"ECHO_RESPONSE_STATUS=503"}, "/-/ws", nil, false},
	} {
		h := handlerOf(t, c.environ...)
		client, response := handshake(t, echotest.Dial(t, serve(t, h).URL), c.target, c.headers, textFrame("early"))
		if response.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("%s: the response is %s: %s", name, response.Status, response.Text)
			continue
		}
		applied := map[bool]string{true: "handshake=true"}[c.echoed]
		if got := response.Header.Get("X-Echo-Applied"); got != applied {
			t.Errorf("%s: the applied controls are %q", name, got)
		}
		if c.echoed {
			expectHandshake(t, client.next(t), c.target)
			echotest.Until(t, "the control is counted", func() bool { return counted(h.metrics.controls, "handshake") == 1 })
		}
		client.send(t, textFrame("late"), closeFrame(1000, ""))
		if got, want := client.all(t), []string{"text early", "text late", "close 1000"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		echotest.Until(t, name+" is released", func() bool { return h.budget.Requests.Used.Load() == 0 })
	}
}

// expectHandshake fails the test if a message is not the echo of a handshake.
func expectHandshake(t *testing.T, message, target string) {
	t.Helper()
	echo := decodeHandshake(t, message)
	if echo.Path != target || echo.Method != http.MethodGet || echo.Applied["handshake"] != true ||
		echo.Headers["Sec-Websocket-Key"][0] != "dGhlIHNhbXBsZSBub25jZQ==" || echo.Request.Body != nil {
		t.Errorf("the echo is %+v", echo)
	}
}

// decodeHandshake returns the echo in a message.
func decodeHandshake(t *testing.T, message string) decoded {
	t.Helper()
	text, isText := strings.CutPrefix(message, "text ")
	if !isText || !utf8.ValidString(text) || strings.HasSuffix(text, "\n") {
		t.Fatalf("the first message is %q", message)
	}
	return decode(t, text)
}

// TestEchoHandshake_showsProxyHeaders sends the headers that proxies add, including one with a secret.
func TestEchoHandshake_showsProxyHeaders(t *testing.T) {
	h := handlerOf(t, "ECHO_REDACT_HEADERS=Sec-WebSocket-Protocol", "ECHO_TRUSTED_PROXIES=127.0.0.1")
	client, _ := handshake(t, echotest.Dial(t, serve(t, h).URL), "/-/ws?echo.handshake=true&q=%E9", []string{"Origin", "https://shop.example",
		"X-Forwarded-Proto", "wss", "X-Forwarded-For", "203.0.113.7", "Cookie", "a=hunter2", "X-Name", latin1, "X-Request-Id", "id-7",
		"Sec-WebSocket-Protocol", "bearer, hunter2", "Sec-WebSocket-Extensions", "permessage-deflate"})
	message := client.next(t)
	echo := decodeHandshake(t, message)
	for name, want := range map[string]string{"Origin": "https://shop.example", "X-Forwarded-Proto": "wss", "Connection": "Upgrade",
		"Upgrade": "websocket", "Sec-Websocket-Extensions": "permessage-deflate", "X-Name": "caf\uFFFD"} {
		if got := echo.Headers[name]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	want := describe.RawList{{Where: "header", Name: "X-Name", Base64: []byte(latin1)}, {Where: "query", Name: "q", Base64: []byte("\xe9")}}
	if diff := cmp.Diff(want, echo.Request.Raw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(message, "hunter2") || echo.Client.Address != "203.0.113.7" || echo.Request.ID != "id-7" ||
		!slices.Contains(echo.Request.HeaderNames, "Sec-WebSocket-Key") {
		t.Errorf("the message is %s", message)
	}
}

// TestEchoHandshake_hidesIdentityFromOtherOrigins checks that a handshake echo reveals where the server runs only to clients that can read
// ordinary echoes.
func TestEchoHandshake_hidesIdentityFromOtherOrigins(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		headers []string
		shown   bool
	}{
		"no page":                  {nil, nil, true},
		"a page of the server":     {nil, []string{"Origin", "https://a"}, true},
		"a page of another origin": {nil, []string{"Origin", "https://evil.example"}, false},
		"a page without an origin": {nil, []string{"Origin", "null"}, false},
		"an origin that is no URL": {nil, []string{"Origin", "https://a:b"}, false},
		"a name that begins alike": {nil, []string{"Origin", "https://a.evil.example"}, false},
		"Full, another origin":     {[]string{"ECHO_CONTROLS=Full"}, []string{"Origin", "https://evil.example"}, true},
		"the setting":              {[]string{"ECHO_IDENTITY=false"}, nil, false},
		"the setting, Full":        {[]string{"ECHO_IDENTITY=false", "ECHO_CONTROLS=Full"}, nil, false},
	} {
		h := handlerOf(t, append(c.environ, "POD_NAME=pod-1")...)
		client, _ := handshake(t, echotest.Dial(t, serve(t, h).URL), "/-/ws?echo.handshake=true",
			append(c.headers, "X-Forwarded-Proto", "wss"))
		message := client.next(t)
		if echo := decodeHandshake(t, message); (echo.Pod != "") != c.shown || (echo.Client.Remote != "") != c.shown ||
			echo.Headers["X-Forwarded-Proto"][0] != "wss" {
			t.Errorf("%s: the message is %s", name, message)
		}
	}
}

// TestEchoHandshake_describesTLS checks that the echo describes the TLS connection of the handshake.
func TestEchoHandshake_describesTLS(t *testing.T) {
	s := serveTLS(t, "")
	config := s.config()
	config.ServerName = "first"
	client, _ := handshake(t, tls.Client(echotest.Dial(t, "http://"+s.address), config), "/-/ws?echo.handshake=true", nil)
	if echo := decodeHandshake(t, client.next(t)); echo.TLS == nil || echo.TLS.ServerName != "first" {
		t.Errorf("TLS is %+v", echo.TLS)
	}
}

// TestEchoHandshake_acceptsLongHeader sends a header of nearly the maximum size with characters that need the longest escapes.
func TestEchoHandshake_acceptsLongHeader(t *testing.T) {
	h := handlerOf(t)
	long := strings.Repeat("\xff", transport.DefaultHeaderBytes-1000)
	client, _ := handshake(t, echotest.Dial(t, serve(t, h).URL), "/-/ws", []string{"X-Echo-Handshake", "true", "X-Name", long})
	echo := decodeHandshake(t, client.next(t))
	if raw := echo.Request.Raw; len(raw) != 1 || string(raw[0].Base64) != long {
		t.Errorf("%d values are listed", len(raw))
	}
	client.send(t, textFrame("hello"))
	if got := client.next(t); got != "text hello" {
		t.Errorf("then comes %q", got)
	}
	echotest.Until(t, "the echo is released", func() bool { return h.budget.Requests.Used.Load() < transport.DefaultHeaderBytes*3 })
}

func TestEchoHandshake_rejectsInvalidRequests(t *testing.T) {
	for name, c := range map[string]struct {
		target  string
		headers []string
		memory  int64
		status  int
		why     string
	}{
		"an invalid value":         {"/-/ws?echo.handshake=maybe", nil, 1 << 20, 400, `echo.handshake: "maybe" is neither true nor false`},
		"an empty value":           {"/-/ws?echo.handshake", nil, 1 << 20, 400, "echo.handshake: "},
		"twice":                    {"/-/ws?echo.handshake=true&echo.handshake=true", nil, 1 << 20, 400, "specified more than once"},
		"an invalid header":        {"/-/ws", []string{"X-Echo-Handshake", "1"}, 1 << 20, 400, "X-Echo-Handshake: "},
		"a malformed query":        {"/-/ws?echo.handshake=%zz", nil, 1 << 20, 400, "cannot be parsed"},
		"no memory":                {"/-/ws?echo.handshake=true", nil, 1000, 503, transport.OverBudget},
		"a path without WebSocket": {"/?echo.handshake=true", nil, 1 << 20, 400, "handshake: applies only to a WebSocket"},
	} {
		h := handlerOf(t)
		h.budget.Requests.Limit = c.memory
		_, response := handshake(t, echotest.Dial(t, serve(t, h).URL), c.target, c.headers)
		if response.StatusCode != c.status || !strings.Contains(response.Text, c.why) {
			t.Errorf("%s: the response is %s: %s", name, response.Status, response.Text)
		}
	}
}

// TestLogHandshake requests WebSockets, in some cases with invalid handshakes. At the debug level, the server must log the headers of these
// requests, and of no other requests.
func TestLogHandshake(t *testing.T) {
	for name, c := range map[string]struct {
		level  string
		target string
		lines  string
		logged bool
	}{
		"info":                            {"info", "/-/ws", validHandshake, false},
		"debug":                           {"debug", "/-/ws?q=%E9", validHandshake, true},
		"under a prefix":                  {"debug", "/shop/-/ws", validHandshake, true},
		"an option that a proxy removed":  {"debug", "/-/ws", strings.Replace(validHandshake, "Connection: Upgrade\r\n", "", 1), true},
		"an upgrade that a proxy removed": {"debug", "/-/ws", "Host: a\r\nConnection: close\r\n", true},
		"an ordinary request":             {"debug", "/", "Host: a\r\nConnection: close\r\n", false},
	} {
		h, log := loggedHandler(t, "ECHO_LOG_LEVEL="+c.level)
		connection := echotest.Dial(t, serve(t, h).URL)
		request := "GET " + c.target + " HTTP/1.1\r\n" + c.lines + "X-Forwarded-Proto: wss\r\nX-Name: " + latin1 +
			"\r\nAuthorization: Bearer hunter2\xe9\r\n\r\n"
		if _, err := io.WriteString(connection, request); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(connection).ReadString('\n'); err != nil {
			t.Errorf("%s: there is no response: %v", name, err)
		}
		_ = connection.Close() // the server logs a WebSocket when the WebSocket closes
		echotest.Until(t, name+": the request is logged", func() bool { return strings.Contains(log.String(), `"msg":"request"`) })
		expectHandshakeLine(t, name, log.String(), c.target, c.logged)
	}
}

// expectHandshakeLine checks that the first log line is the echo of a handshake if and only if expected is true.
func expectHandshakeLine(t *testing.T, name, log, target string, expected bool) {
	t.Helper()
	first, _, _ := strings.Cut(log, "\n")
	var line struct {
		Level slog.Level
		Msg   string
		ID    string
		Echo  decoded
	}
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		t.Fatal(err)
	}
	if isLogged := line.Msg == "handshake"; isLogged != expected || strings.Contains(log, "hunter2") ||
		strings.Contains(log, "X-Forwarded-Proto") != expected {
		t.Errorf("%s: the log is %s", name, log)
	}
	if expected && (line.Level != slog.LevelDebug || line.ID != line.Echo.Request.ID || line.Echo.Path != target ||
		string(line.Echo.Request.Raw[0].Base64) != latin1) {
		t.Errorf("%s: the line is %s", name, first)
	}
}
