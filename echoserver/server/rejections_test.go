package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

const (
	proxyV1 = "PROXY TCP4 198.51.100.7 10.0.0.1 51234 8080\r\n"
	proxyV2 = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc6\x33\x64\x07\x0a\x00\x00\x01\xc8\x22\x1f\x90"
	plain   = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
)

// rejectedCase holds the data that a client sends, and the rejection that the server must report.
type rejectedCase struct {
	sent                     string
	status                   int
	reason, protocol, detail string // the reported detail must contain detail
}

type loggedRejection struct{ Msg, Remote, Protocol, Reason, Detail string }

func rejectionsIn(t *testing.T, log *echotest.LockedBuffer) (found []loggedRejection) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var each loggedRejection
		if err := json.Unmarshal([]byte(line), &each); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if each.Msg == "rejected before a handler" {
			found = append(found, each)
		}
	}
	return found
}

// checkRejection checks that the log and the metrics report exactly one rejection.
func checkRejection(t *testing.T, name string, m *metrics, log *echotest.LockedBuffer, client net.Conn, want rejectedCase) {
	t.Helper()
	found := rejectionsIn(t, log)
	remote := client.LocalAddr().String()
	if want.reason == transport.ReasonHTTP2Stream || want.reason == transport.ReasonHTTP2Connect {
		remote = "" // net/http does not report it
	}
	if len(found) != 1 || found[0].Reason != want.reason || found[0].Protocol != want.protocol ||
		!strings.Contains(found[0].Detail, want.detail) || found[0].Remote != remote {
		t.Errorf("%s: the log of the client %s is %s, want %+v", name, client.LocalAddr(), log, want)
	}
	if diff := cmp.Diff(map[string]float64{"reason=" + want.reason: 1}, series(t, m, "echo_rejected_total")); diff != "" {
		t.Errorf("%s: the counts (-want +got):\n%s", name, diff)
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("%s: a secret is in the log: %s", name, log)
	}
}

// rejectedRequests returns requests that net/http rejects in different ways, and other protocols that clients may use by mistake.
func rejectedRequests() map[string]rejectedCase {
	bad := func(sent, detail string) rejectedCase {
		return rejectedCase{sent, 400, "status_400", "HTTP/1", "400 Bad Request" + detail}
	}
	header := func(fields, detail string) rejectedCase {
		return bad("POST /?key=hunter2 HTTP/1.1\r\n"+fields+"\r\n\r\n", detail)
	}
	proxy := func(sent, protocol string) rejectedCase {
		return rejectedCase{sent + plain, 400, transport.ReasonProxyProtocol, protocol, "turn it off"}
	}
	return map[string]rejectedCase{
		"PROXY protocol 1":            proxy(proxyV1, "PROXY v1"),
		"PROXY protocol 1, IPv6":      proxy("PROXY TCP6 2001:db8::7 2001:db8::1 51234 8080\r\n", "PROXY v1"),
		"PROXY protocol 1, unknown":   proxy("PROXY UNKNOWN\r\n", "PROXY v1"),
		"PROXY protocol 2":            proxy(proxyV2, "PROXY v2"),
		"PROXY protocol 2 of a probe": proxy(proxyV2[:12]+"\x20\x00\x00\x00", "PROXY v2"),
		"SSH":                         bad("SSH-2.0-OpenSSH_9.6\r\n", ""),
		"Redis":                       bad("*1\r\n$4\r\nPING\r\n", ""),
		"an empty line":               bad("\r\n"+plain, ""),
		"an escape":                   bad("GET /a%zz?k=hunter2 HTTP/1.1\r\nHost: a\r\n\r\n", ""),
		"HTTP/3.0":                    {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, "status_505", "HTTP/1", "unsupported protocol version"},
		"no Host":                     header("X-A: 1", ": missing required Host header"),
		"a blank in Host":             header("Host: a b", ": malformed Host header"),
		"a blank before the colon":    header("Host: a\r\nX-A : hunter2", ""),
		"NUL in a value":              header("Host: a\r\nX-A: hunter2\x00", ""),
		"two lengths":                 header("Host: a\r\nContent-Length: 1\r\ncontent-length: 2", ""),
		"a coding":                    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "status_501", "HTTP/1", "501 "},
		"an expectation":              {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417, "status_417", "HTTP/1", "417 "},
	}
}

// TestReporter_reportsRejectedRequests sends requests that net/http rejects, alone, after another request, and together with it. The
// response, the log, and the metrics must report the status, but no data of the request.
func TestReporter_reportsRejectedRequests(t *testing.T) {
	for name, c := range rejectedRequests() {
		for before, first := range map[string]string{"alone": "", "after a request": plain,
			"after chunks": "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"} {
			if first != "" && c.protocol != "HTTP/1" {
				continue
			}
			h, log := loggedHandler(t)
			conn := echotest.Dial(t, serve(t, h).URL)
			if first != "" {
				_, _ = io.WriteString(conn, first)
				readStatus(t, conn)
			}
			got := echotest.Exchanged(t, conn, c.sent)
			if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.status)) || !strings.Contains(got, c.detail) ||
				!strings.Contains(got, "\r\n\r\necho-server: ") {
				t.Errorf("%s %s: the response is %q", name, before, got)
			}
			checkRejection(t, name+" "+before, h.metrics, log, conn, c)
			if first == "" || before == "after chunks" {
				continue
			}
			h, log = loggedHandler(t)
			conn = echotest.Dial(t, serve(t, h).URL)
			if got := echotest.Exchanged(t, conn, first+c.sent); strings.Count(got, "HTTP/1.1 ") != 2 {
				t.Errorf("%s together with a request: the responses are %q", name, got)
			}
			checkRejection(t, name+" together with a request", h.metrics, log, conn, c)
		}
	}
}

// readStatus reads a response and returns its status. Data that follows the response would be lost in the buffer.
func readStatus(t *testing.T, conn net.Conn) int {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// TestReporter_reportsIncompleteHeaders closes the connection or stops sending in the middle of a header, or without a header, as health
// checks do.
func TestReporter_reportsIncompleteHeaders(t *testing.T) {
	h, log := loggedHandler(t)
	conn := echotest.Dial(t, serve(t, h).URL)
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nCookie: hun"); err != nil || conn.(*net.TCPConn).CloseWrite() != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") {
		t.Errorf("the response is %q, %v", got, err)
	}
	checkRejection(t, "an incomplete header", h.metrics, log, conn, rejectedCase{reason: "status_400", protocol: "HTTP/1"})
	for sent, want := range map[string]int{"": 0, "GET /": 1, "\x80\x67\x01\x03": 1, "GET / HTTP/1.1\r\nCookie: hunter2": 1} {
		synctest.Test(t, func(t *testing.T) {
			h, log := loggedHandler(t)
			server, listener := serveInMemory(t, h)
			conn, began := listener.Dial(t), time.Now()
			_, _ = io.WriteString(conn, sent)
			if got, err := io.ReadAll(conn); err != nil || len(got) > 0 || time.Since(began) != transport.HeaderTimeout {
				t.Errorf("%q: the response is %q, %v after %s", sent, got, err, time.Since(began))
			}
			if found := rejectionsIn(t, log); len(found) != want || want > 0 && found[0].Reason != transport.ReasonIncomplete {
				t.Errorf("%q: the log is %s", sent, log)
			}
			_ = server.Close()
		})
	}
	h, log = loggedHandler(t)
	conn = echotest.Dial(t, serve(t, h).URL)
	if conn.(*net.TCPConn).CloseWrite() != nil {
		t.Fatal("the connection cannot be closed")
	}
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 || len(series(t, h.metrics, "echo_rejected_total")) > 0 || log.String() != "" {
		t.Errorf("without a request: the response is %q, %v, the log is %s", got, err, log)
	}
}

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

// dialTLS connects to an HTTPS server with HTTP/2.
func dialTLS(t *testing.T, s *secured) net.Conn {
	t.Helper()
	config := s.config()
	config.NextProtos = []string{"h2"}
	config.ServerName = "first"
	secure := tls.Client(echotest.Dial(t, s.address), config)
	if err := secure.Handshake(); err != nil {
		t.Fatal(err)
	}
	return secure
}

// TestNewServer_rejectsTLSOnHTTPPort sends the first TLS message in pieces to the plain HTTP port. net/http alone would wait for a line
// feed.
func TestNewServer_rejectsTLSOnHTTPPort(t *testing.T) {
	hello := clientHello(t)
	for _, size := range []int{1, 2, 5, len(hello)} {
		h, log := loggedHandler(t)
		conn := echotest.Dial(t, serve(t, h).URL)
		go func() {
			for rest := hello; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				_, _ = conn.Write(rest[:min(size, len(rest))]) // the server may have closed the connection
			}
		}()
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") || !strings.HasSuffix(string(got), "this port has no TLS: use http\n") {
			t.Errorf("in pieces of %d: the response is %q, %v", size, got, err)
		}
		checkRejection(t, "TLS", h.metrics, log, conn, rejectedCase{reason: transport.ReasonTLS, protocol: "TLS", detail: "use http"})
	}
}

// TestReportFailure sends data that is not a TLS handshake, and handshakes that fail.
func TestReportFailure(t *testing.T) {
	http := func(sent string) rejectedCase {
		return rejectedCase{sent: sent, reason: transport.ReasonNoTLS, protocol: "HTTP", detail: "use https"}
	}
	proxy := func(sent, protocol string) rejectedCase {
		return rejectedCase{sent: sent, reason: transport.ReasonProxyProtocol, protocol: protocol, detail: "turn it off"}
	}
	failed := func(sent, detail string) rejectedCase {
		return rejectedCase{sent: sent, reason: transport.ReasonHandshake, protocol: "TLS", detail: detail}
	}
	for name, c := range map[string]rejectedCase{
		"HTTP/1.1":         http("GET /?k=hunter2 HTTP/1.1\r\n"),
		"a URL":            http("GET http://a/ HTTP/1.1\r\n"),
		"a long header":    http("GET / HTTP/1.1\r\nX-A: " + echotest.Payload(20_000)),
		"CONNECT":          http("CONNECT a:443 HTTP/1.1\r\n"),
		"HTTP/2":           http("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		"PROXY protocol 1": proxy(proxyV1+string(clientHello(t)), "PROXY v1"),
		"PROXY protocol 2": proxy(proxyV2+string(clientHello(t)), "PROXY v2"),
		"SSH":              failed("SSH-2.0-OpenSSH_9.6\r\n", "does not look like a TLS handshake"),
		"a long message":   failed("\x16\x03\x01\xff\xff", "oversized record"),
	} {
		s := serveTLS(t, "")
		conn := echotest.Dial(t, s.address)
		go func() { _, _ = io.WriteString(conn, c.sent) }() // the server may respond before it has read everything
		data, err := io.ReadAll(conn)
		got := string(data)
		if c.reason == transport.ReasonNoTLS && err != nil || strings.Contains(got, "HTTP") != (c.reason == transport.ReasonNoTLS) {
			t.Errorf("%s: the response is %q, %v", name, got, err)
		}
		checkRejection(t, name, s.metrics, &s.log, conn, c)
	}
}

// TestReportFailure_reportsRejectedClients attempts TLS handshakes with settings that the server does not allow, and from clients that do
// not trust the server.
func TestReportFailure_reportsRejectedClients(t *testing.T) {
	for name, c := range map[string]struct {
		setting string
		change  func(*tls.Config)
		detail  string
	}{
		"no certificate": {"ECHO_TLS_CLIENT_CERTIFICATE=Require", func(*tls.Config) {}, "didn't provide a certificate"},
		"TLS 1.1":        {"", func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, "unsupported versions"},
		"no protocol in common": {"", func(c *tls.Config) { c.NextProtos = []string{"spdy/3"} },
			"unsupported application protocols"},
		"no trust": {"", func(c *tls.Config) { c.RootCAs = nil }, "bad certificate"},
	} {
		s := serveTLS(t, echotest.NewAuthority(t, "clients").PEM, c.setting)
		config := s.config()
		config.ServerName = "first"
		c.change(config)
		conn := echotest.Dial(t, s.address)
		secure := tls.Client(conn, config)
		_ = secure.Handshake() // in TLS 1.3, the client's handshake can succeed before the server receives the client certificate
		_, _ = io.Copy(io.Discard, secure)
		echotest.Until(t, "it is logged", func() bool { return len(rejectionsIn(t, &s.log)) > 0 })
		checkRejection(t, name, s.metrics, &s.log, conn, rejectedCase{reason: transport.ReasonHandshake, protocol: "TLS", detail: c.detail})
	}
}

// TestReportFailure_reportsTimeouts stops in the middle of the first message, or sends nothing, as load balancers do when they connect in
// advance.
func TestReportFailure_reportsTimeouts(t *testing.T) {
	hello := clientHello(t)
	for length, want := range map[int]int{0: 0, 100: 1} {
		synctest.Test(t, func(t *testing.T) {
			listener := echotest.NewMemoryListener()
			s := secureWith(t, listener, "")
			conn := listener.Dial(t)
			_, _ = conn.Write(hello[:length])
			_, _ = io.Copy(io.Discard, conn)
			synctest.Wait()
			found := rejectionsIn(t, &s.log)
			if len(found) != want || want > 0 &&
				(found[0].Reason != transport.ReasonHandshake || found[0].Detail != "the handshake did not complete in time") {
				t.Errorf("%d bytes: the log is %s", length, &s.log)
			}
			_ = s.server.Close()
		})
	}
}

// TestReportFailure_ignoresClientsThatLeave closes connections before sending any data, as health checks do, and in the middle of the first
// message.
func TestReportFailure_ignoresClientsThatLeave(t *testing.T) {
	for _, length := range []int{0, 5, 100} {
		s := serveTLS(t, "")
		conn := echotest.Dial(t, s.address)
		if _, err := conn.Write(clientHello(t)[:length]); err != nil || conn.(*net.TCPConn).CloseWrite() != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || strings.Contains(string(got), "HTTP") {
			t.Errorf("%d bytes: the response is %q, %v", length, got, err)
		}
		if got := s.log.String(); got != "" || len(series(t, s.metrics, "echo_rejected_total")) > 0 {
			t.Errorf("%d bytes: the log is %s", length, got)
		}
	}
}
