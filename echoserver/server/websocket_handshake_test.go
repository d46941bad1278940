package server

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestHandshake changes one header of a valid handshake at a time. The key and the response to it are from RFC 6455, 1.3.
func TestHandshake(t *testing.T) {
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	for name, c := range map[string]struct {
		header      string
		values      []string
		status      int
		subprotocol string
		reason      string
	}{
		"valid":                      {"X-A", nil, http.StatusSwitchingProtocols, "", ""},
		"several connection options": {"Connection", []string{"keep-alive, Upgrade"}, http.StatusSwitchingProtocols, "", ""},
		"several connection headers": {"Connection", []string{"keep-alive", "UPGRADE"}, http.StatusSwitchingProtocols, "", ""},
		"no connection option":       {"Connection", []string{"keep-alive"}, http.StatusBadRequest, "", "Connection"},
		"a name that begins alike":   {"Connection", []string{"Upgrades"}, http.StatusBadRequest, "", "Connection"},
		"another protocol, too":      {"Upgrade", []string{"h2c, WebSocket"}, http.StatusSwitchingProtocols, "", ""},
		"no key":                     {"Sec-WebSocket-Key", nil, http.StatusBadRequest, "", "Sec-WebSocket-Key"},
		"two keys":                   {"Sec-WebSocket-Key", []string{key, key}, http.StatusBadRequest, "", "Sec-WebSocket-Key"},
		"a short key":                {"Sec-WebSocket-Key", []string{"c2hvcnQ="}, http.StatusBadRequest, "", "Sec-WebSocket-Key"},
		"a key that is not base64":   {"Sec-WebSocket-Key", []string{strings.Repeat("!", 24)}, http.StatusBadRequest, "", "Sec-WebSocket-Key"},
		"a key with rests of bits": {"Sec-WebSocket-Key", []string{"dGhlIHNhbXBsZSBub25jZR=="}, http.StatusBadRequest, "",
			"Sec-WebSocket-Key"},
		"no version":                    {"Sec-WebSocket-Version", nil, http.StatusUpgradeRequired, "", "Sec-WebSocket-Version"},
		"another version":               {"Sec-WebSocket-Version", []string{"8"}, http.StatusUpgradeRequired, "", "Sec-WebSocket-Version"},
		"several versions":              {"Sec-WebSocket-Version", []string{"13", "8"}, http.StatusUpgradeRequired, "", "Sec-WebSocket-Version"},
		"a body":                        {"Content-Length", []string{"1"}, http.StatusBadRequest, "", "body"},
		"a body of unknown length":      {"Transfer-Encoding", []string{"chunked"}, http.StatusBadRequest, "", "body"},
		"one sub-protocol":              {"Sec-WebSocket-Protocol", []string{"graphql-ws"}, http.StatusSwitchingProtocols, "graphql-ws", ""},
		"several sub-protocols":         {"Sec-WebSocket-Protocol", []string{"a.B_2, b"}, http.StatusSwitchingProtocols, "a.B_2", ""},
		"several sub-protocol headers":  {"Sec-WebSocket-Protocol", []string{" ,", "b", "c"}, http.StatusSwitchingProtocols, "b", ""},
		"an empty sub-protocol":         {"Sec-WebSocket-Protocol", []string{""}, http.StatusSwitchingProtocols, "", ""},
		"a sub-protocol that is none":   {"Sec-WebSocket-Protocol", []string{"a b"}, http.StatusBadRequest, "", "Sec-WebSocket-Protocol"},
		"an extension is not agreed on": {"Sec-WebSocket-Extensions", []string{"permessage-deflate"}, http.StatusSwitchingProtocols, "", ""},
	} {
		server := serve(t, handlerOf(t))
		headers := http.Header{"Host": {"a"}, "Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Key": {key},
			"Sec-Websocket-Version": {"13"}}
		headers[http.CanonicalHeaderKey(c.header)] = c.values
		got := rawResponse(t, server.URL, "GET /shop/-/ws HTTP/1.1", headers)
		if got.StatusCode != c.status {
			t.Errorf("%s: the status is %d, want %d", name, got.StatusCode, c.status)
		}
		want := http.Header{}
		switch c.status {
		case http.StatusSwitchingProtocols:
			want.Set("Upgrade", "websocket")
			want.Set("Connection", "Upgrade")
			want.Set("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
		case http.StatusUpgradeRequired:
			want.Set("Upgrade", "websocket")
			want.Set("Connection", "Upgrade")
			want.Set("Sec-WebSocket-Version", "13")
		}
		if c.subprotocol != "" {
			want.Set("Sec-WebSocket-Protocol", c.subprotocol)
		}
		for _, header := range []string{"Upgrade", "Connection", "Sec-WebSocket-Accept", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol",
			"Sec-WebSocket-Extensions"} {
			if !slices.Equal(got.Header.Values(header), want.Values(header)) {
				t.Errorf("%s: %s is %q, want %q", name, header, got.Header.Values(header), want.Values(header))
			}
		}
		if want.Set("Date", ""); c.status == http.StatusSwitchingProtocols && len(got.Header) != len(want) {
			t.Errorf("%s: the header is %v", name, got.Header)
		}
		if c.reason != "" && (!strings.Contains(got.Text, c.reason) || strings.Count(got.Text, "\n") != 1) {
			t.Errorf("%s: the reason is %q", name, got.Text)
		}
	}
}

// rawResponse sends a request unchanged, followed by enough data for any body, and returns the response.
func rawResponse(t *testing.T, address, line string, headers http.Header) echotest.Reply {
	t.Helper()
	var request strings.Builder
	request.WriteString(line + "\r\n")
	if err := headers.Write(&request); err != nil {
		t.Fatal(err)
	}
	connection := echotest.Dial(t, address)
	defer func() { _ = connection.Close() }()
	if _, err := io.WriteString(connection, request.String()+"\r\n0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return echotest.Reply{Response: response}.Whole(t)
}

// TestIsHandshake sends requests that are not WebSocket handshakes because of their HTTP version or the protocol that they request.
func TestIsHandshake(t *testing.T) {
	server := serve(t, handlerOf(t))
	valid := http.Header{"Host": {"a"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		"Sec-Websocket-Version": {"13"}}
	other := valid.Clone()
	other.Set("Upgrade", "h2c")
	for name, got := range map[string]echotest.Reply{
		"HTTP/1.0":         rawResponse(t, server.URL, "GET /-/ws HTTP/1.0", valid),
		"another protocol": rawResponse(t, server.URL, "GET /-/ws HTTP/1.1", other),
	} {
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != describe.PageType {
			t.Errorf("%s: the response is %d %s", name, got.StatusCode, got.Header.Get("Content-Type"))
		}
	}
}

// TestUpgrade_keepsEarlyFrames sends frames in the same packet as the handshake, before the WebSocket is open.
func TestUpgrade_keepsEarlyFrames(t *testing.T) {
	client := openRaw(t, echotest.Dial(t, serve(t, handlerOf(t)).URL), textFrame("early"), pingFrame("1"), textFrame(echotest.Payload(10_000)),
		closeFrame(1000, ""))
	if got, want := client.all(t), []string{"text early", "pong 1", "text " + echotest.Payload(10_000), "close 1000"}; !slices.Equal(got,
		want) {
		t.Errorf("got %.100q", got)
	}
}
