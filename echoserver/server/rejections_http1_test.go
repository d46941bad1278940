package server

import (
	"bufio"
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

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/rejections"
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
	if len(found) != 1 || found[0].Reason != want.reason || found[0].Protocol != want.protocol ||
		!strings.Contains(found[0].Detail, want.detail) || found[0].Remote != client.LocalAddr().String() {
		t.Errorf("%s: the log of the client %s is %s, want %+v", name, client.LocalAddr(), log, want)
	}
	if diff := cmp.Diff(map[string]float64{"reason=" + want.reason: 1}, series(t, m, "echo_rejected_total")); diff != "" {
		t.Errorf("%s: the counts (-want +got):\n%s", name, diff)
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("%s: a secret is in the log: %s", name, log)
	}
}

// rejectedRequests returns cases from RFC 9110, RFC 9112, the PROXY protocol, and llhttp's parser tests, and cases with other protocols
// that clients may use by mistake.
func rejectedRequests() map[string]rejectedCase {
	line := func(sent, detail string) rejectedCase {
		return rejectedCase{sent, 400, rejections.ReasonRequestLine, "HTTP/1", detail}
	}
	header := func(fields, reason, detail string) rejectedCase {
		return rejectedCase{"POST /?key=hunter2 HTTP/1.1\r\n" + fields + "\r\n\r\n", 400, reason, "HTTP/1.1", detail}
	}
	coding := func(value string) rejectedCase {
		return rejectedCase{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + value + "\r\n\r\n", 501, "transfer_encoding", "HTTP/1.1",
			"chunked, exactly once"}
	}
	proxy := func(sent, protocol string) rejectedCase {
		return rejectedCase{sent + plain, 400, rejections.ReasonProxyProtocol, protocol, "turn it off"}
	}
	return map[string]rejectedCase{
		"PROXY protocol 1":                  proxy(proxyV1, "PROXY v1"),
		"PROXY protocol 1, IPv6":            proxy("PROXY TCP6 2001:db8::7 2001:db8::1 51234 8080\r\n", "PROXY v1"),
		"PROXY protocol 1, unknown":         proxy("PROXY UNKNOWN\r\n", "PROXY v1"),
		"PROXY protocol 2":                  proxy(proxyV2, "PROXY v2"),
		"PROXY protocol 2 of a probe":       proxy(proxyV2[:12]+"\x20\x00\x00\x00", "PROXY v2"),
		"SSH":                               line("SSH-2.0-OpenSSH_9.6\r\n", "method, a target, and a version"),
		"Redis":                             line("*1\r\n$4\r\nPING\r\n", "method, a target, and a version"),
		"SMTP":                              line("EHLO mail.example.com\r\n", "method, a target, and a version"),
		"HTTP/0.9":                          line("GET /a-longer-path\r\n", "method, a target, and a version"),
		"another protocol":                  line("GET /music ICE/1.0\r\nHost: a\r\n\r\n", "version such as HTTP/1.1"),
		"a blank in the path":               line("GET /hunter2 b HTTP/1.1\r\nHost: a\r\n\r\n", "must not contain spaces"),
		"two blanks":                        line("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "must not contain spaces"),
		"a version of one digit":            line("GET / HTTP/1\r\nHost: a\r\n\r\n", "version such as HTTP/1.1"),
		"a version in lower case":           line("GET / http/1.1\r\nHost: a\r\n\r\n", "version such as HTTP/1.1"),
		"a method that is no token":         {"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request_line", "HTTP/1.1", "not a token"},
		"an escape":                         {"GET /a%zz?k=hunter2 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request_line", "HTTP/1.1", `"%zz"`},
		"a target without a slash":          {"GET hunter2 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request_line", "HTTP/1.1", "neither"},
		"a control character in the target": {"GET /a\x01b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request_line", "HTTP/1.1", "neither"},
		"a URL":                             {"GET http://hunter2@a:x/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request_line", "HTTP/1.1", "neither"},
		"CONNECT to nothing":                {"CONNECT [::1 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request_line", "HTTP/1.1", "neither"},
		"HTTP/3.0":                          {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, "request_line", "HTTP/3.0", "neither HTTP/1.0"},
		"HTTP/2.0 without its beginning":    {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, "request_line", "HTTP/2.0", "neither HTTP/1.0"},
		"no Host":                           header("X-A: 1", rejections.ReasonHost, "no Host, which HTTP/1.1"),
		"two Hosts":                         header("Host: a\r\nhost: a", rejections.ReasonHost, "more than one"),
		"UTF-8 in Host":                     header("Host: caf\xc3\xa9", rejections.ReasonHost, "not allowed in a host"),
		"a blank in Host":                   header("Host: a b", rejections.ReasonHost, "not allowed in a host"),
		"a blank before the colon":          header("Host: a\r\nX-A : hunter2", rejections.ReasonField, "whitespace follows the name X-A"),
		"a tab before the colon":            header("Host: a\r\nX-A\t: hunter2", rejections.ReasonField, "whitespace follows the name X-A"),
		"a name that is no token":           header("Host: a\r\nhunter2@: 1", rejections.ReasonField, "line 3 "),
		"no name":                           header("Host: a\r\n: hunter2", rejections.ReasonField, "line 3 "),
		"no colon":                          header("Host: a\r\nhunter2", rejections.ReasonField, "line 3 "),
		"a name that is folded":             header("Host: a\r\nname\r\n : value", rejections.ReasonField, "line 3 "),
		"a fold before all":                 header(" X-A: 1\r\nHost: a", rejections.ReasonField, "line 2 "),
		"NUL in a value":                    header("Host: a\r\nX-A: hunter2\x00", rejections.ReasonField, "value of X-A"),
		"DEL in a value":                    header("Host: a\r\nX-A: hunter2\x7f", rejections.ReasonField, "value of X-A"),
		"lines that end in CR":              header("Host: a\r\nCookie: hunter2\rX-B: 1", rejections.ReasonField, "value of Cookie"),
		"two lengths":                       header("Host: a\r\nContent-Length: 1\r\ncontent-length: 2", "content_length", "several"),
		"a length with a sign":              header("Host: a\r\nContent-Length: +1", rejections.ReasonContentLength, "not a number"),
		"a list of lengths":                 header("Host: a\r\nContent-Length: 1, 1", rejections.ReasonContentLength, "not a number"),
		"an empty length":                   header("Host: a\r\nContent-Length:", rejections.ReasonContentLength, "not a number"),
		"a trailer that is none": header("Host: a\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length", rejections.ReasonField,
			"Trailer"),
		"a coding":        coding("gzip, chunked"),
		"chunked twice":   coding("chunked, chunked"),
		"identity":        coding("identity"),
		"an expectation":  {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417, "expectation", "HTTP/1.1", "100-continue"},
		"five line feeds": {"\n\n\n\n\n" + plain, 400, "request_line", "HTTP/1", "method, a target, and a version"},
	}
}

// TestReporter_reportsRejectedRequests sends requests that net/http rejects, both alone and after other requests on the same connection.
// The response, the log, and the metrics must report the reason.
func TestReporter_reportsRejectedRequests(t *testing.T) {
	for name, c := range rejectedRequests() {
		for before, first := range map[string]string{
			"alone":                  "",
			"after a request":        plain,
			"after a body":           "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
			"after a body of a POST": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
			"after a long body":      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n" + echotest.Payload(9000),
			"after chunks":           "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		} {
			if first != "" && c.protocol != "HTTP/1.1" {
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

// TestReporter_reportsPipelinedRequest sends an invalid request together with a valid one, so that net/http reads both headers at once.
func TestReporter_reportsPipelinedRequest(t *testing.T) {
	h, log := loggedHandler(t)
	conn := echotest.Dial(t, serve(t, h).URL)
	got := echotest.Exchanged(t, conn, plain+"GET / HTTP/1.1\r\nHost: a b\r\n\r\n")
	if !strings.Contains(got, "HTTP/1.1 200 ") || !strings.Contains(got, "HTTP/1.1 400 ") {
		t.Errorf("the responses are %q", got)
	}
	checkRejection(t, "pipelined", h.metrics, log, conn, rejectedCase{reason: rejections.ReasonOther, protocol: "HTTP/1",
		detail: "malformed Host header, in a request that was sent before the response to another request"})
}

// TestReporter_reportsIncompleteHeaders closes the connection or stops sending in the middle of a header.
func TestReporter_reportsIncompleteHeaders(t *testing.T) {
	for sent, want := range map[string]rejectedCase{
		"GET / HTTP/1.1\r\nHost: a\r\n": {reason: rejections.ReasonIncomplete, protocol: "HTTP/1.1", detail: "before the empty line"},
		"GET / HTTP/1.1\r\nCookie: hun": {reason: rejections.ReasonIncomplete, protocol: "HTTP/1.1", detail: "before the empty line"},
	} {
		h, log := loggedHandler(t)
		conn := echotest.Dial(t, serve(t, h).URL)
		if _, err := io.WriteString(conn, sent); err != nil || conn.(*net.TCPConn).CloseWrite() != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") {
			t.Errorf("%q: the response is %q, %v", sent, got, err)
		}
		checkRejection(t, sent, h.metrics, log, conn, want)
	}
	for sent, want := range map[string]int{"": 0, "GET /": 1, "\x80\x67\x01\x03": 1, "GET / HTTP/1.1\r\nCookie: hunter2": 1} {
		synctest.Test(t, func(t *testing.T) {
			h, log := loggedHandler(t)
			server, listener := serveInMemory(t, h)
			conn, began := listener.Dial(t), time.Now()
			_, _ = io.WriteString(conn, sent)
			if got, err := io.ReadAll(conn); err != nil || len(got) > 0 || time.Since(began) != connection.HeaderTimeout {
				t.Errorf("%q: the response is %q, %v after %s", sent, got, err, time.Since(began))
			}
			if found := rejectionsIn(t, log); len(found) != want || want > 0 && found[0].Reason != rejections.ReasonIncomplete {
				t.Errorf("%q: the log is %s", sent, log)
			}
			_ = server.Close()
		})
	}
}

// TestReporter_ignoresConnectionsWithoutRequests closes connections without a request, as health checks do. The server must not report them
// as rejected.
func TestReporter_ignoresConnectionsWithoutRequests(t *testing.T) {
	for _, sent := range []string{"", "\r\n"} {
		h, log := loggedHandler(t)
		conn := echotest.Dial(t, serve(t, h).URL)
		if _, err := io.WriteString(conn, sent); err != nil || conn.(*net.TCPConn).CloseWrite() != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
			t.Errorf("%q: the response is %q, %v", sent, got, err)
		}
		if got := series(t, h.metrics, "echo_rejected_total"); len(got) > 0 || log.String() != "" {
			t.Errorf("%q: the counts are %v, the log is %s", sent, got, log)
		}
	}
}
