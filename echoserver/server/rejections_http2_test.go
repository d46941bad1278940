package server

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/echo-operator/echo-operator/echoserver/transport"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// fieldBlock returns an encoded header that contains only the given fields.
func fieldBlock(fields ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // writing to a buffer never fails
	}
	return block.Bytes()
}

// http2Case holds the frames that a client sends after its SETTINGS frame, and the rejection that the server must report.
type http2Case struct {
	send           func(*http2.Framer) error
	reason, detail string // the reported detail must contain detail
}

// rejectedFrames returns cases from RFC 9113, RFC 8441, and h2spec.
func rejectedFrames() map[string]http2Case {
	request := func(block []byte) func(*http2.Framer) error {
		return func(f *http2.Framer) error { return writeHeader(f, 1, block, true, true) }
	}
	stream := func(detail string, fields ...string) http2Case {
		return http2Case{request(fieldBlock(fields...)), transport.ReasonHTTP2Stream, "PROTOCOL_ERROR_" + detail}
	}
	ended := func(detail string, send func(*http2.Framer) error) http2Case {
		return http2Case{send, transport.ReasonHTTP2Connection, detail}
	}
	return map[string]http2Case{
		"a WebSocket": {request(fieldBlock(":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":path", "/-/ws",
			":authority", "a")), transport.ReasonHTTP2Connect, "bad_connect"},
		"CONNECT with a path": {request(fieldBlock(":method", "CONNECT", ":scheme", "http", ":path", "/", ":authority", "a")),
			transport.ReasonHTTP2Connect, "bad_connect"},
		"no path":                stream("bad_path_method", ":method", "GET", ":scheme", "http", ":authority", "a"),
		"a path without a slash": stream("bad_path", ":method", "GET", ":scheme", "http", ":path", "hunter2", ":authority", "a"),
		"a user in the authority": stream("userinfo_in_authority", ":method", "GET", ":scheme", "http", ":path", "/",
			":authority", "hunter2@a"),
		"an even stream": ended("PROTOCOL_ERROR", func(f *http2.Framer) error {
			return writeHeader(f, 2, headerBlock("GET", "/"), true, true)
		}),
		"a body before its header": ended("PROTOCOL_ERROR", func(f *http2.Framer) error { return f.WriteData(1, true, []byte("hunter2")) }),
		"a long cookie": ended("COMPRESSION_ERROR", request(headerBlock("GET", "/", "cookie",
			strings.Repeat("hunter2", transport.DefaultHeaderBytes)))),
		"more requests than allowed": {func(f *http2.Framer) error {
			for i := range uint32(maxStreams + 1) {
				if err := writeHeader(f, 2*i+1, headerBlock("GET", "/?echo.delay=30s"), true, true); err != nil {
					return err
				}
			}
			return nil
		}, transport.ReasonHTTP2Stream, "over_max_streams"},
	}
}

// TestReporter_reportsRejectedFrames sends HTTP/2 frames that net/http rejects. It reports the client only if it closes the connection.
func TestReporter_reportsRejectedFrames(t *testing.T) {
	for name, c := range rejectedFrames() {
		h, log := loggedHandler(t)
		conn := echotest.Dial(t, serve(t, h).URL)
		framer, err := greet(conn, complete)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.send(framer) // the server may close the connection before it has read everything
		awaitRejection(framer)
		checkRejection(t, name, h.metrics, log, conn, rejectedCase{reason: c.reason, protocol: "HTTP/2.0", detail: c.detail})
	}
}

// awaitRejection reads until the server closes a stream or the connection.
func awaitRejection(framer *http2.Framer) {
	for {
		frame, err := framer.ReadFrame()
		if err != nil || frame.Header().Type == http2.FrameRSTStream || frame.Header().Type == http2.FrameGoAway ||
			frame.Header().Flags.Has(http2.FlagDataEndStream) && frame.Header().Type == http2.FrameData {
			return
		}
	}
}

// TestReporter_ignoresHandledRequests resets streams that a handler is serving, and uploads more than the handler reads. The server must
// not report these requests as rejected.
func TestReporter_ignoresHandledRequests(t *testing.T) {
	h, log := loggedHandler(t, "ECHO_CONTROLS=Full")
	url := serve(t, h).URL
	client := echotest.Clients(t)["HTTP/2.0"]
	if response, err := client.Get(url + "/?echo.connection=reset"); err == nil {
		_ = response.Body.Close()
		t.Error("the stream is not reset")
	}
	if got := echotest.Send(t, client, "POST", url+"/-/ws", echotest.Payload(200_000)); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("the upload gets %d", got.StatusCode)
	}
	for _, text := range []string{"request header x", strings.Repeat("x", 64), ""} {
		if got := echotest.Send(t, client, "POST", url+"/-/body", text); got.Text != text {
			t.Errorf("the echo is %q", got.Text)
		}
	}
	if found := rejectionsIn(t, log); len(found) > 0 || len(series(t, h.metrics, "echo_rejected_total")) > 0 {
		t.Errorf("found %v, counted %v", found, series(t, h.metrics, "echo_rejected_total"))
	}
}

// TestNewServer_announcesNoHTTP2WebSockets checks the server's HTTP/2 settings (RFC 8441, 3).
func TestNewServer_announcesNoHTTP2WebSockets(t *testing.T) {
	h := handlerOf(t)
	secured := serveTLS(t, "")
	for name, conn := range map[string]net.Conn{"HTTP": echotest.Dial(t, serve(t, h).URL), "HTTPS": dialTLS(t, secured)} {
		framer, err := greet(conn, complete)
		if err != nil {
			t.Fatal(err)
		}
		frame, err := framer.ReadFrame()
		settings, ok := frame.(*http2.SettingsFrame)
		if err != nil || !ok {
			t.Fatalf("%s: the first frame is %v, %v", name, frame, err)
		}
		if value, ok := settings.Value(http2.SettingEnableConnectProtocol); ok {
			t.Errorf("%s: SETTINGS_ENABLE_CONNECT_PROTOCOL is %d", name, value)
		}
	}
}
