package server

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

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
