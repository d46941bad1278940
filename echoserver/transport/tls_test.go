package transport

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestTLSConnection_sendsCloseNotify sends a body that the handler ignores. The client must get the whole response, and then close_notify.
func TestTLSConnection_sendsCloseNotify(t *testing.T) {
	s := serveTLS(t, "", TLSSettings{})
	connection := tls.Client(echotest.Dial(t, s.address), s.authority.ClientConfig())
	// Without the alert, reading fails with io.ErrUnexpectedEOF.
	got := echotest.Exchanged(t, connection, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8388609\r\n\r\n"+echotest.Payload(8<<20+1))
	if !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.HasSuffix(got, "no certificate") {
		t.Errorf("got %q", got)
	}
}

// TestNewTLSListener_negotiates connects with what the settings allow, and with what they do not, which the server must report.
func TestNewTLSListener_negotiates(t *testing.T) {
	aes256 := TLSSettings{Ciphers: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}}
	atMost := func(version uint16, ciphers ...uint16) func(*tls.Config) {
		return func(c *tls.Config) { c.MinVersion, c.MaxVersion, c.CipherSuites = tls.VersionTLS10, version, ciphers }
	}
	offers := func(protocols ...string) func(*tls.Config) {
		return func(c *tls.Config) { c.NextProtos = protocols }
	}
	from13 := TLSSettings{MinVersion: tls.VersionTLS13}
	for name, c := range map[string]struct {
		settings TLSSettings
		change   func(*tls.Config)
		want     string // the version, the cipher suite, and the protocol
		detail   string // of the rejection
	}{
		"TLS 1.1":              {TLSSettings{}, atMost(tls.VersionTLS11), "", "unsupported versions"},
		"TLS 1.2 under 1.3":    {from13, atMost(tls.VersionTLS12), "", "unsupported versions"},
		"a cipher suite":       {aes256, atMost(tls.VersionTLS12), "TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 ", ""},
		"another cipher suite": {aes256, atMost(tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256), "", "no cipher suite"},
		"HTTP/2 goes first":    {TLSSettings{}, offers("http/1.1", "h2"), "TLS 1.3 TLS_AES_128_GCM_SHA256 h2", ""},
		"another protocol":     {TLSSettings{}, offers("spdy/3"), "", "unsupported application protocols"},
		"no certificate": {TLSSettings{ClientCertificate: ClientCertificateRequire}, func(*tls.Config) {}, "",
			"didn't provide a certificate"},
	} {
		s := serveTLS(t, echotest.NewAuthority(t, "clients").PEM, c.settings)
		config := s.authority.ClientConfig()
		c.change(config)
		conn := echotest.Dial(t, s.address)
		secure := tls.Client(conn, config)
		err := secure.Handshake() // in TLS 1.3, it can succeed before the server receives the client certificate
		if c.detail != "" {
			echotest.Until(t, "it is logged", func() bool { return len(s.rejections(t)) > 0 })
			s.checkRejection(t, name, conn, rejectedCase{reason: ReasonHandshake, protocol: "TLS", detail: c.detail})
			continue
		}
		state := secure.ConnectionState()
		got := tls.VersionName(state.Version) + " " + tls.CipherSuiteName(state.CipherSuite) + " " + state.NegotiatedProtocol
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestTLSStateOf sends requests over both protocols, with different client certificates and without TLS.
func TestTLSStateOf(t *testing.T) {
	known, unknown := echotest.NewAuthority(t, "known"), echotest.NewAuthority(t, "unknown")
	good, bad := known.Issue(t, "client"), unknown.Issue(t, "client")
	long := good.Pair(t)
	for range maxPeerCertificates {
		long.Certificate = append(long.Certificate, known.Leaf.Raw)
	}
	for name, c := range map[string]struct {
		setting, authority string
		shown              []tls.Certificate
		want               string // empty if the connection must fail
	}{
		"None, none":                     {"None", known.PEM, nil, "no certificate"},
		"None, good":                     {"None", known.PEM, []tls.Certificate{good.Pair(t)}, "no certificate"},
		"Request, none":                  {"Request", known.PEM, nil, "no certificate"},
		"Request, good":                  {"Request", known.PEM, []tls.Certificate{good.Pair(t)}, "verified"},
		"Request, bad":                   {"Request", known.PEM, []tls.Certificate{bad.Pair(t)}, "not verified"},
		"Request without an authority":   {"Request", "", []tls.Certificate{good.Pair(t)}, "not verified"},
		"Request, with too long a chain": {"Request", known.PEM, []tls.Certificate{long}, ""},
		"Require, none":                  {"Require", known.PEM, nil, ""},
		"Require, good":                  {"Require", known.PEM, []tls.Certificate{good.Pair(t)}, "verified"},
		"Require, bad":                   {"Require", known.PEM, []tls.Certificate{bad.Pair(t)}, ""},
	} {
		s := serveTLS(t, c.authority, TLSSettings{ClientCertificate: c.setting})
		for proto, client := range echotest.TLSClients(t, showing(s.authority.ClientConfig(), c.shown)) {
			if got := shownCertificate(t, client, s.address); got != c.want {
				t.Errorf("%s, %s: got %q, want %q", name, proto, got, c.want)
			}
		}
	}
	if got := echotest.Send(t, http.DefaultClient, http.MethodGet, "http://"+newServed().serveLocally(t), "").Text; got != "" {
		t.Errorf("without TLS: %s", got)
	}
}

// shownCertificate returns how the server describes the client certificate, or "" if there is no response.
func shownCertificate(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	response, err := client.Get("https://" + address + "/")
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	_, certificate, _ := strings.Cut(echotest.Reply{Response: response}.Whole(t).Text, ", ")
	return certificate
}

// showing returns a TLS configuration that makes the client present its certificate to any server that requests one.
func showing(config *tls.Config, certificates []tls.Certificate) *tls.Config {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if len(certificates) == 0 {
			return &tls.Certificate{}, nil
		}
		return &certificates[0], nil
	}
	return config
}

// TestCertificates_rotatesAuthority checks that the server no longer trusts the previous authority, even in a resumed session.
func TestCertificates_rotatesAuthority(t *testing.T) {
	old, next := echotest.NewAuthority(t, "old"), echotest.NewAuthority(t, "next")
	for setting, want := range map[string]string{"Request": "not verified", "Require": ""} {
		s := serveTLS(t, old.PEM, TLSSettings{ClientCertificate: setting})
		server := s.authority.Issue(t, "first")
		s.volume.Update(t, echotest.SecretKeys(server, old.PEM))
		s.certificates.Rotate()
		config := showing(s.authority.ClientConfig(), []tls.Certificate{old.Issue(t, "client").Pair(t)})
		config.ClientSessionCache = tls.NewLRUClientSessionCache(9)
		clients := freshClients(t, config)
		for _, client := range clients {
			if got := shownCertificate(t, client, s.address); got != "verified" {
				t.Errorf("%s: before the rotation %q", setting, got)
			}
		}
		s.volume.Update(t, echotest.SecretKeys(server, next.PEM))
		s.certificates.Rotate()
		for _, client := range clients {
			if got := shownCertificate(t, client, s.address); got != want {
				t.Errorf("%s: after the rotation %q, want %q", setting, got, want)
			}
		}
	}
}

// TestNewTLSListener_resumesSessions checks that sessions are resumed only if the server requests no client certificate, because a client that
// resumes a session does not present its certificate again.
func TestNewTLSListener_resumesSessions(t *testing.T) {
	for setting, want := range map[string]bool{"None": true, "Request": false} {
		s := serveTLS(t, "", TLSSettings{ClientCertificate: setting})
		config := s.authority.ClientConfig()
		config.ClientSessionCache = tls.NewLRUClientSessionCache(9)
		for _, client := range freshClients(t, config) {
			echotest.Send(t, client, http.MethodGet, "https://"+s.address, "")
			if got := echotest.Send(t, client, http.MethodGet, "https://"+s.address, "").TLS.DidResume; got != want {
				t.Errorf("%s: the session is resumed: %t", setting, got)
			}
		}
	}
}

// clientHello returns the first message that a TLS client sends.
func clientHello(t *testing.T) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	go func() { _ = tls.Client(near, &tls.Config{ServerName: "first"}).Handshake() }() // the handshake fails
	hello := make([]byte, 8<<10)
	n, err := far.Read(hello)
	if err != nil {
		t.Fatal(err)
	}
	return hello[:n]
}

// TestRunHandshake_timesOut stops in the middle of a handshake, and measures when the server closes the connection. The server must not
// report a client that sends nothing, as load balancers do when they connect in advance.
func TestRunHandshake_timesOut(t *testing.T) {
	hello := clientHello(t)
	for name, c := range map[string]struct {
		sent  []byte
		reads bool
	}{
		"nothing":                          {nil, true},
		"half of the first message":        {hello[:len(hello)/2], true},
		"the first message":                {hello, true},
		"a client that does not read":      {hello, false},
		"the first message, byte for byte": {hello, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			listener := echotest.NewMemoryListener()
			s := secureWith(t, listener, "", TLSSettings{})
			conn, began := listener.Dial(t), time.Now()
			if strings.HasSuffix(name, "byte for byte") {
				for i := range c.sent[:len(c.sent)-1] {
					_, _ = conn.Write(c.sent[i : i+1])
					<-time.After(time.Millisecond)
				}
			} else if len(c.sent) > 0 {
				_, _ = conn.Write(c.sent)
			}
			if c.reads {
				_, _ = io.Copy(io.Discard, conn)
			} else {
				<-time.After(2 * HeaderTimeout)
				_, err := conn.Read(make([]byte, 1))
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: after the time for the handshake %v", name, err)
				}
			}
			synctest.Wait()
			found := s.rejections(t)
			if reported := len(found) == 1 && found[0].Detail == "the handshake did not complete in time"; reported != (c.sent != nil) {
				t.Errorf("%s: the log is %s", name, &s.log)
			}
			if took := time.Since(began); c.reads && took != HeaderTimeout {
				t.Errorf("%s: closed after %s", name, took)
			}
			_ = s.Close()
		})
	}
}

// TestNewTLSListener_evictsOldestHandshake begins more handshakes than the limit allows. The server must abort the oldest one. A complete
// handshake must not count toward the limit.
func TestNewTLSListener_evictsOldestHandshake(t *testing.T) {
	hello := clientHello(t)
	synctest.Test(t, func(t *testing.T) {
		listener := echotest.NewMemoryListener()
		s := secureWith(t, listener, "", TLSSettings{})
		open := func() net.Conn {
			connection := listener.Dial(t)
			_, _ = connection.Write(hello)
			synctest.Wait()
			return connection
		}
		first := open()
		for range maxHandshakes - 1 {
			open()
		}
		listener.Dial(t) // sends nothing, so that no handshake begins
		var ended atomic.Bool
		go func() {
			_, _ = io.Copy(io.Discard, first)
			ended.Store(true)
		}()
		synctest.Wait()
		if ended.Load() || s.rejected(LimitHandshakes) != 0 {
			t.Errorf("at the limit %d are dropped", s.rejected(LimitHandshakes))
		}
		config := s.authority.ClientConfig()
		complete := listener.Dial(t)
		if err := tls.Client(complete, config).Handshake(); err != nil {
			t.Errorf("one over the limit fails: %v", err)
		}
		synctest.Wait()
		if !ended.Load() || s.rejected(LimitHandshakes) != 1 {
			t.Errorf("over the limit %d are dropped, the first: %t", s.rejected(LimitHandshakes), ended.Load())
		}
		open() // uses the slot that the complete handshake freed
		if s.rejected(LimitHandshakes) != 1 {
			t.Errorf("a complete handshake is still counted: %d are dropped", s.rejected(LimitHandshakes))
		}
		_ = complete.Close() // otherwise, closing the server waits until the client reads the alert
		synctest.Wait()
		_ = s.Close()
	})
}

// TestCarrier_closesQuickly closes the connections of a client that no longer reads.
func TestCarrier_closesQuickly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := echotest.NewMemoryListener()
		s := secureWith(t, listener, "", TLSSettings{})
		config := s.authority.ClientConfig()
		client := tls.Client(listener.Dial(t), config)
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(client).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Fatalf("the response is %q, %v", line, err)
		}
		synctest.Wait()
		began := time.Now()
		if err := s.Shutdown(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("it took %s, %v", time.Since(began), err)
		}
	})
}

// TestCarrier_limitsHandshakeSize sends a first message below the size limit and one above it, each with many protocol names.
func TestCarrier_limitsHandshakeSize(t *testing.T) {
	s := serveTLS(t, "", TLSSettings{})
	for size, want := range map[int]bool{12 << 10: true, 20 << 10: false} {
		config := s.authority.ClientConfig()
		config.NextProtos = []string{"h2"}
		for range size / 201 {
			config.NextProtos = append(config.NextProtos, strings.Repeat("x", 200))
		}
		connection, err := tls.Dial("tcp", s.address, config)
		if (err == nil) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
		if err == nil {
			_ = connection.Close()
		}
	}
}

// freshClients returns clients that open a connection for each request.
func freshClients(t *testing.T, config *tls.Config) (list []*http.Client) {
	for _, client := range echotest.TLSClients(t, config) {
		client.Transport.(*http.Transport).DisableKeepAlives = true //nolint:forcetypeassert // TLSClients creates it
		list = append(list, client)
	}
	return list
}
