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
