package transport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

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

func (s *served) rejections(t *testing.T) (found []loggedRejection) {
	t.Helper()
	for line := range strings.Lines(s.log.String()) {
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
func (s *served) checkRejection(t *testing.T, name string, client net.Conn, want rejectedCase) {
	t.Helper()
	found := s.rejections(t)
	remote := client.LocalAddr().String()
	if want.reason == ReasonHTTP2Stream || want.reason == ReasonHTTP2Connect {
		remote = "" // net/http does not report it
	}
	if len(found) != 1 || found[0].Reason != want.reason || found[0].Protocol != want.protocol ||
		!strings.Contains(found[0].Detail, want.detail) || found[0].Remote != remote {
		t.Errorf("%s: the log of the client %s is %s, want %+v", name, client.LocalAddr(), &s.log, want)
	}
	if diff := cmp.Diff(map[string]int{want.reason: 1}, s.counts); diff != "" {
		t.Errorf("%s: the counts (-want +got):\n%s", name, diff)
	}
	if strings.Contains(s.log.String(), "hunter2") {
		t.Errorf("%s: a secret is in the log: %s", name, &s.log)
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
		return rejectedCase{sent + plain, 400, ReasonProxyProtocol, protocol, "turn it off"}
	}
	return map[string]rejectedCase{
		"PROXY protocol 1":         proxy(proxyV1, "PROXY v1"),
		"PROXY protocol 2":         proxy(proxyV2, "PROXY v2"),
		"an empty line":            bad("\r\n"+plain, ""),
		"an escape":                bad("GET /a%zz?k=hunter2 HTTP/1.1\r\nHost: a\r\n\r\n", ""),
		"HTTP/3.0":                 {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, "status_505", "HTTP/1", "unsupported protocol version"},
		"no Host":                  header("X-A: 1", ": missing required Host header"),
		"a blank before the colon": header("Host: a\r\nX-A : hunter2", ""),
		"NUL in a value":           header("Host: a\r\nX-A: hunter2\x00", ""),
		"two lengths":              header("Host: a\r\nContent-Length: 1\r\ncontent-length: 2", ""),
		"many trailers": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: a" + strings.Repeat(",a", 500) + "\r\n\r\n", 431,
			"status_431", "HTTP/1", "431 "},
		"a coding": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "status_501", "HTTP/1", "501 "},
	}
}

// TestReporter_reportsRejectedRequests sends requests that net/http rejects, alone and after another request. FuzzRequests sends them together.
// The response, the log, and the metrics must report the status, but no data of the request.
func TestReporter_reportsRejectedRequests(t *testing.T) {
	for name, c := range rejectedRequests() {
		for before, first := range map[string]string{"alone": "", "after a request": plain,
			"after chunks": "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"} {
			if first != "" && c.protocol != "HTTP/1" {
				continue
			}
			s := newServed()
			conn := echotest.Dial(t, s.serveLocally(t))
			if first != "" {
				_, _ = io.WriteString(conn, first)
				readStatus(t, conn)
			}
			got := echotest.Exchanged(t, conn, c.sent)
			if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.status)) || !strings.Contains(got, c.detail) ||
				!strings.Contains(got, "\r\n\r\necho-server: ") {
				t.Errorf("%s %s: the response is %q", name, before, got)
			}
			s.checkRejection(t, name+" "+before, conn, c)
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

// TestReporter_reportsIncompleteHeaders closes the connection or stops sending in a header, or without one, as health checks do.
func TestReporter_reportsIncompleteHeaders(t *testing.T) {
	s := newServed()
	conn := echotest.Dial(t, s.serveLocally(t))
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nCookie: hun"); err != nil || conn.(*net.TCPConn).CloseWrite() != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") {
		t.Errorf("the response is %q, %v", got, err)
	}
	s.checkRejection(t, "an incomplete header", conn, rejectedCase{reason: "status_400", protocol: "HTTP/1"})
	for sent, want := range map[string]int{"": 0, "GET /": 1, "\x80\x67\x01\x03": 1, "GET / HTTP/1.1\r\nCookie: hunter2": 1} {
		synctest.Test(t, func(t *testing.T) {
			s, listener := newServed(), echotest.NewMemoryListener()
			s.serve(t, listener, Cost)
			conn, began := listener.Dial(t), time.Now()
			_, _ = io.WriteString(conn, sent)
			if got, err := io.ReadAll(conn); err != nil || len(got) > 0 || time.Since(began) != HeaderTimeout {
				t.Errorf("%q: the response is %q, %v after %s", sent, got, err, time.Since(began))
			}
			if found := s.rejections(t); len(found) != want || want > 0 && found[0].Reason != ReasonIncomplete {
				t.Errorf("%q: the log is %s", sent, &s.log)
			}
			_ = s.Close()
		})
	}
}

// http2Case holds the frames that a client sends after its SETTINGS frame, and the rejection that the server must report.
type http2Case struct {
	send           func(*http2.Framer) error
	reason, detail string // the reported detail must contain detail
}

// rejectedFrames returns cases from RFC 9113, RFC 8441, and h2spec.
func rejectedFrames() map[string]http2Case {
	request := func(block []byte) func(*http2.Framer) error {
		return func(f *http2.Framer) error { return echotest.WriteHeader(f, 1, block, true, true) }
	}
	stream := func(detail string, fields ...string) http2Case {
		return http2Case{request(echotest.FieldBlock(fields...)), ReasonHTTP2Stream, "PROTOCOL_ERROR_" + detail}
	}
	ended := func(detail string, send func(*http2.Framer) error) http2Case {
		return http2Case{send, ReasonHTTP2Connection, detail}
	}
	return map[string]http2Case{
		"a WebSocket": {request(echotest.FieldBlock(":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":path", "/-/ws",
			":authority", "a")), ReasonHTTP2Connect, "bad_connect"},
		"no path": stream("bad_path_method", ":method", "GET", ":scheme", "http", ":authority", "a"),
		"a user in the authority": stream("userinfo_in_authority", ":method", "GET", ":scheme", "http", ":path", "/",
			":authority", "hunter2@a"),
		"an even stream": ended("PROTOCOL_ERROR", func(f *http2.Framer) error {
			return echotest.WriteHeader(f, 2, echotest.HeaderBlock("GET", "/"), true, true)
		}),
		"a body before its header": ended("PROTOCOL_ERROR", func(f *http2.Framer) error { return f.WriteData(1, true, []byte("hunter2")) }),
		"a long cookie": ended("COMPRESSION_ERROR", request(echotest.HeaderBlock("GET", "/", "cookie",
			strings.Repeat("hunter2", DefaultHeaderBytes)))),
		"more requests than allowed": {func(f *http2.Framer) error {
			for i := range uint32(maxStreams + 1) {
				if err := echotest.WriteHeader(f, 2*i+1, echotest.HeaderBlock("GET", "/slow"), true, true); err != nil {
					return err
				}
			}
			return nil
		}, ReasonHTTP2Stream, "over_max_streams"},
	}
}

// TestReporter_reportsRejectedFrames sends HTTP/2 frames that net/http rejects. It reports the client only if it closes the connection.
func TestReporter_reportsRejectedFrames(t *testing.T) {
	for name, c := range rejectedFrames() {
		s := newServed()
		conn := echotest.Dial(t, s.serveLocally(t))
		framer, err := echotest.Greet(conn)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.send(framer) // the server may close the connection before it has read everything
		awaitRejection(framer)
		s.checkRejection(t, name, conn, rejectedCase{reason: c.reason, protocol: "HTTP/2.0", detail: c.detail})
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

// TestReporter_ignoresHandledRequests resets streams that a handler serves, and uploads more than it reads.
func TestReporter_ignoresHandledRequests(t *testing.T) {
	s := newServed()
	s.Handler = Handle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/reset":
			panic(http.ErrAbortHandler)
		case "/echo":
			_, _ = io.Copy(w, r.Body) // the client reads
		}
	}))
	url, client := "http://"+s.serveLocally(t), echotest.Clients(t)["HTTP/2.0"]
	if response, err := client.Get(url + "/reset"); err == nil {
		_ = response.Body.Close()
		t.Error("the stream is not reset")
	}
	echotest.Send(t, client, http.MethodPost, url, echotest.Payload(200_000))
	for _, text := range []string{"request header x", strings.Repeat("x", 64), ""} {
		if got := echotest.Send(t, client, http.MethodPost, url+"/echo", text); got.Text != text {
			t.Errorf("the echo is %q", got.Text)
		}
	}
	if len(s.counts) > 0 || s.log.String() != "" {
		t.Errorf("counted are %v, the log is %s", s.counts, &s.log)
	}
}

// TestConnection_rejectsTLS sends the first TLS message in pieces to the HTTP port. net/http alone would wait for a line feed.
func TestConnection_rejectsTLS(t *testing.T) {
	hello := clientHello(t)
	for _, size := range []int{1, 2, 5, len(hello)} {
		s := newServed()
		conn := echotest.Dial(t, s.serveLocally(t))
		go func() {
			for rest := hello; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				_, _ = conn.Write(rest[:min(size, len(rest))]) // the server may have closed the connection
			}
		}()
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") || !strings.HasSuffix(string(got), "this port has no TLS: use http\n") {
			t.Errorf("in pieces of %d: the response is %q, %v", size, got, err)
		}
		s.checkRejection(t, "TLS", conn, rejectedCase{reason: ReasonTLS, protocol: "TLS", detail: "use http"})
	}
}

// TestReportFailure sends data that is not a TLS handshake, and handshakes that fail.
func TestReportFailure(t *testing.T) {
	http := func(sent string) rejectedCase {
		return rejectedCase{sent: sent, reason: ReasonNoTLS, protocol: "HTTP", detail: "use https"}
	}
	proxy := func(sent, protocol string) rejectedCase {
		return rejectedCase{sent: sent, reason: ReasonProxyProtocol, protocol: protocol, detail: "turn it off"}
	}
	failed := func(sent, detail string) rejectedCase {
		return rejectedCase{sent: sent, reason: ReasonHandshake, protocol: "TLS", detail: detail}
	}
	cases := map[string]rejectedCase{
		"a secret":         http("GET /?k=hunter2 HTTP/1.1\r\n"),
		"a long header":    http("GET / HTTP/1.1\r\nX-A: " + echotest.Payload(20_000)),
		"HTTP/2":           http("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		"PROXY protocol 1": proxy(proxyV1+string(clientHello(t)), "PROXY v1"),
		"PROXY protocol 2": proxy(proxyV2+string(clientHello(t)), "PROXY v2"),
		"SSH":              failed("SSH-2.0-OpenSSH_9.6\r\n", "does not look like a TLS handshake"),
	}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE", "PATCH", "CONNECT", "TRACE"} {
		cases[method] = http(method + " a:443 HTTP/1.1\r\n")
	}
	for name, c := range cases {
		s := serveTLS(t, "", TLSSettings{})
		conn := echotest.Dial(t, s.address)
		go func() { _, _ = io.WriteString(conn, c.sent) }() // the server may respond before it has read everything
		data, err := io.ReadAll(conn)
		got, isHTTP := string(data), c.reason == ReasonNoTLS
		if isHTTP && (err != nil || !strings.HasPrefix(got, "HTTP/1.1 400 ") ||
			!strings.HasSuffix(got, "echo-server: this port requires TLS: use https\n")) || !isHTTP && strings.Contains(got, "HTTP") {
			t.Errorf("%s: the response is %q, %v", name, got, err)
		}
		s.checkRejection(t, name, conn, c)
	}
}

// TestReportFailure_ignoresClientsThatLeave closes connections before and in the middle of the first message, as health checks do.
func TestReportFailure_ignoresClientsThatLeave(t *testing.T) {
	for _, length := range []int{0, 5, 100} {
		s := serveTLS(t, "", TLSSettings{})
		conn := echotest.Dial(t, s.address)
		if _, err := conn.Write(clientHello(t)[:length]); err != nil || conn.(*net.TCPConn).CloseWrite() != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || strings.Contains(string(got), "HTTP") {
			t.Errorf("%d bytes: the response is %q, %v", length, got, err)
		}
		if got := s.log.String(); got != "" || len(s.counts) > 0 {
			t.Errorf("%d bytes: the log is %s", length, got)
		}
	}
}

// TestConnection_rejectsIncompleteHeaders sends headers that are too large before their end arrives.
func TestConnection_rejectsIncompleteHeaders(t *testing.T) {
	for name, c := range map[string]struct{ sent, status string }{
		"very many fields": {"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: 1\r\n", 6000), "431 Request Header Fields Too Large"},
		"a long field": {"GET / HTTP/1.1\r\nHost: a\r\nX-Huge: " + strings.Repeat("x", DefaultHeaderBytes),
			"431 Request Header Fields Too Large"},
		"a long request line": {"GET /" + strings.Repeat("x", MaxRequestLine+1), "414 Request URI Too Long"},
	} {
		s := newServed()
		got := echotest.Exchanged(t, echotest.Dial(t, s.serveLocally(t)), c.sent)
		if !strings.HasPrefix(got, "HTTP/1.1 "+c.status+"\r\n") || !strings.Contains(got, "\r\nCache-Control: no-store\r\n") ||
			s.rejected(LimitHeader) != 1 {
			t.Errorf("%s: the response is %.200q, counted are %v", name, got, s.counts)
		}
	}
}

// TestReporter_limit reports many rejections. In each second, ten must be logged; the first line after them reports how many were omitted.
func TestReporter_limit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, counts := &echotest.LockedBuffer{}, 0
		reporter := NewReporter(slog.New(slog.NewTextHandler(log, nil)), func(string) { counts++ })
		report := func(times int) {
			for range times {
				reporter.report(rejection{remote: "a:1", protocol: "HTTP/1", status: 400, reason: ReasonTLS, detail: strings.Repeat("x", 10_000)})
			}
		}
		report(4)
		<-time.After(900 * time.Millisecond)
		report(1000)
		if got := strings.Count(log.String(), "remote=a:1"); got != linesPerSecond {
			t.Errorf("in the first second: %d lines", got)
		}
		<-time.After(100 * time.Millisecond)
		report(2)
		if got := log.String(); strings.Count(got, "remote=a:1") != linesPerSecond+2 || strings.Count(got, "omitted=994\n") != 1 {
			t.Errorf("after the next second has begun: %s", got)
		}
		if counts != 1006 || len(log.String()) > 12*(maxDetail+200) {
			t.Errorf("%d are counted; the log has %d bytes", counts, len(log.String()))
		}
	})
}

// TestReporter_ErrorLog writes lines that net/http logs, including HTTP/2 lines that clients can trigger.
func TestReporter_ErrorLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, counts := &echotest.LockedBuffer{}, map[string]int{}
		reporter := NewReporter(slog.New(slog.NewTextHandler(log, nil)), func(reason string) { counts[reason]++ })
		errorLog := reporter.ErrorLog()
		errorLog.Print("http2: server connection error from [::1]:5: connection error: PROTOCOL_ERROR")
		for range 100 {
			errorLog.Print("http2: received GOAWAY")
			errorLog.Print("http2: panic serving a:1")
			errorLog.Print("http: panic serving a:1")
		}
		for text, want := range map[string]int{"reason=http2_connection": 1, `detail="connection error: PROTOCOL_ERROR" remote=[::1]:5`: 1,
			"received GOAWAY": linesPerSecond - 1, "http2: panic": 100, "http: panic": 100} {
			if got := strings.Count(log.String(), text); got != want {
				t.Errorf("%s: %d lines, want %d", text, got, want)
			}
		}
		if diff := cmp.Diff(map[string]int{ReasonHTTP2Connection: 1}, counts); diff != "" {
			t.Errorf("the counts (-want +got):\n%s", diff)
		}
	})
}
