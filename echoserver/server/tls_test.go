package server

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestDescribeTLS sends requests over HTTP/1.1 and HTTP/2, and checks how the responses describe the connection.
func TestDescribeTLS(t *testing.T) {
	s := serveTLS(t, "")
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	config := s.config()
	config.ServerName = "first"
	alpn := map[string]string{"HTTP/1.1": "", "HTTP/2.0": "h2"} // http.Transport offers http/1.1 only together with h2
	for proto, client := range tlsClients(t, config) {
		got := echotest.Send(t, client, http.MethodPost, "https://"+s.address+"/a", "hello")
		told := decode(t, got.Text)
		want := &describe.TLS{Version: "TLSv1.3", ServerName: "first", NegotiatedProtocol: alpn[proto], CipherSuite: "TLS_AES_128_GCM_SHA256"}
		if diff := cmp.Diff(want, told.TLS); diff != "" || got.Proto != proto || told.Proto != proto || told.Port != port ||
			told.Request.Body.Data != "hello" {
			t.Errorf("%s: the response is by %s: %s (-want +got):\n%s", proto, got.Proto, got.Text, diff)
		}
		echotest.Until(t, "the request is counted", func() bool {
			return counted(s.metrics.requests, "https", proto, "POST", "200") == 1
		})
	}
}

// TestDescribeTLS_onlyForTLSConnections serves both HTTP and HTTPS from one server. Each response must describe its own connection.
func TestDescribeTLS_onlyForTLSConnections(t *testing.T) {
	s := serveTLS(t, "")
	plain := echotest.ListenLocally(t)
	go func() { _ = s.server.Serve(plain) }()
	for proto, client := range echotest.Clients(t) {
		if told := decode(t, echotest.Send(t, client, http.MethodGet, "http://"+plain.Addr().String(), "").Text); told.TLS != nil ||
			told.Port != "8080" {
			t.Errorf("%s without TLS: port %s, %+v", proto, told.Port, told.TLS)
		}
	}
}

// TestNewTLSListener_limitsVersionsAndCiphers connects with TLS versions and cipher suites that the settings allow, and with others.
func TestNewTLSListener_limitsVersionsAndCiphers(t *testing.T) {
	const aes256 = "ECHO_TLS_CIPHERS=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
	for name, c := range map[string]struct {
		setting string
		version uint16
		ciphers []uint16
		want    string // the version and the cipher suite, or "" if the connection must fail
	}{
		"TLS 1.1":                             {"", tls.VersionTLS11, nil, ""},
		"TLS 1.2":                             {"", tls.VersionTLS12, nil, "TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
		"TLS 1.2 under 1.3":                   {"ECHO_TLS_MIN_VERSION=VersionTLS13", tls.VersionTLS12, nil, ""},
		"TLS 1.3":                             {"ECHO_TLS_MIN_VERSION=VersionTLS13", tls.VersionTLS13, nil, "TLSv1.3 TLS_AES_128_GCM_SHA256"},
		"a cipher suite":                      {aes256, tls.VersionTLS12, nil, "TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
		"another cipher suite":                {aes256, tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, ""},
		"TLS 1.3 has cipher suites by itself": {aes256, tls.VersionTLS13, nil, "TLSv1.3 TLS_AES_128_GCM_SHA256"},
	} {
		s := serveTLS(t, "", c.setting)
		config := s.config()
		config.MinVersion, config.MaxVersion, config.CipherSuites = tls.VersionTLS10, c.version, c.ciphers
		connection, err := tls.Dial("tcp", s.address, config)
		if c.want == "" {
			if err == nil {
				_ = connection.Close()
				t.Errorf("%s: the connection succeeds", name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := echotest.Exchanged(t, connection, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		_, body, _ := strings.Cut(got, "\r\n\r\n")
		told := decode(t, body)
		if got := told.TLS.Version + " " + told.TLS.CipherSuite; got != c.want || told.TLS.NegotiatedProtocol != "" || told.Proto != "HTTP/1.1" {
			t.Errorf("%s: %+v over %s, want %s", name, told.TLS, told.Proto, c.want)
		}
	}
}

func TestNewTLSListener_negotiatesProtocol(t *testing.T) {
	s := serveTLS(t, "")
	for offered, want := range map[string]string{"http/1.1": "http/1.1", "h2,http/1.1": "h2", "http/1.1,h2": "h2", "h2": "h2", "spdy/3": ""} {
		config := s.config()
		config.NextProtos = strings.Split(offered, ",")
		connection, err := tls.Dial("tcp", s.address, config)
		if (err == nil) != (want != "") || err == nil && connection.ConnectionState().NegotiatedProtocol != want {
			t.Errorf("%s: %v, want %q", offered, err, want)
		}
		if err == nil {
			_ = connection.Close()
		}
	}
}

// TestReportFailure_respondsToPlainHTTP sends a plain HTTP request to the HTTPS port.
func TestReportFailure_respondsToPlainHTTP(t *testing.T) {
	s := serveTLS(t, "")
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE", "PATCH"} {
		got := echotest.Exchanged(t, echotest.Dial(t, s.address), method+" / HTTP/1.1\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.HasSuffix(got, "echo-server: this port requires TLS: use https\n") {
			t.Errorf("%s: the response is %q", method, got)
		}
	}
	if got := echotest.Exchanged(t, echotest.Dial(t, s.address), "QUIT\r\n\r\n"); strings.Contains(got, "HTTP") {
		t.Errorf("what is not HTTP gets %q", got)
	}
}

// TestNewTLSListener_sendsCloseNotify sends a body that is too large. The client must get the whole response, and then the TLS close_notify
// alert.
func TestNewTLSListener_sendsCloseNotify(t *testing.T) {
	s := serveTLS(t, "")
	connection, err := tls.Dial("tcp", s.address, s.config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(echotest.Patience)); err != nil {
		t.Fatal(err)
	}
	// Without the alert, reading fails with io.ErrUnexpectedEOF.
	got := echotest.Exchanged(t, connection, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8388609\r\n\r\n"+echotest.Payload(8<<20+1))
	if !strings.HasPrefix(got, "HTTP/1.1 413 ") {
		t.Errorf("got %q", got)
	}
}

// TestNewTLSListener_servesStreams exchanges a WebSocket message, and reads server-sent events as they arrive.
func TestNewTLSListener_servesStreams(t *testing.T) {
	s := serveTLS(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), echotest.Patience)
	defer cancel()
	client := tlsClients(t, s.config())["HTTP/1.1"]
	connection, response, err := websocket.Dial(ctx, "wss://"+s.address+"/-/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	defer func() { _ = connection.CloseNow() }()
	if err := connection.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := connection.Read(ctx); err != nil || string(got) != "hello" {
		t.Errorf("the WebSocket returns %q, %v", got, err)
	}
	if err := connection.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("closing the WebSocket: %v", err)
	}
	for proto, client := range tlsClients(t, s.config()) {
		response := echotest.Open(t, client, http.MethodGet, "https://"+s.address+"/-/sse", http.NoBody)
		if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || line != "id: 1\n" {
			t.Errorf("%s: the first line is %q, %v", proto, line, err)
		}
		sent := echotest.Payload(300_000)
		if got := echotest.Send(t, client, http.MethodPost, "https://"+s.address+"/-/body", sent); got.Text != sent {
			t.Errorf("%s: %d bytes of the stream come back", proto, len(got.Text))
		}
	}
}

// TestRun_servesHTTPS starts and drains a server that has both an HTTP and an HTTPS port.
func TestRun_servesHTTPS(t *testing.T) {
	a := echotest.NewAuthority(t, "authority")
	volume := echotest.NewSecretVolume(t, echotest.SecretKeys(a.Issue(t, "first"), ""))
	r := startRun(t, "ECHO_DRAIN_DELAY=0s", "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+volume.Folder)
	s := &secured{authority: a}
	for proto, client := range tlsClients(t, s.config()) {
		told := decode(t, echotest.Send(t, client, http.MethodGet, "https://"+r.HTTPS, "").Text)
		if !strings.HasSuffix(r.HTTPS, ":"+told.Port) || told.TLS == nil {
			t.Errorf("%s: the port is %s of %s, %+v", proto, told.Port, r.HTTPS, told.TLS)
		}
	}
	plain := echotest.Clients(t)["HTTP/1.1"]
	if told := decode(t, echotest.Send(t, plain, http.MethodGet, "http://"+r.Address, "").Text); !strings.HasSuffix(r.Address,
		":"+told.Port) || told.TLS != nil {
		t.Errorf("without TLS: the port is %s of %s, %+v", told.Port, r.Address, told.TLS)
	}
	read := families(t, echotest.Send(t, plain, http.MethodGet, "http://"+r.Admin+"/metrics", "").Text)
	if got := values(read["echo_tls_certificate_expiry_seconds"])[""]; got != 4102444800 {
		t.Errorf("the certificate expires at %f", got)
	}
	if got, ok := values(read["echo_tls_reload_failures_total"])[""]; got != 0 || !ok {
		t.Errorf("%f reloads failed, %t", got, ok)
	}
	r.stop()
	if err := <-r.ended; err != nil || !strings.Contains(r.log.String(), `"msg":"drained"`) {
		t.Errorf("it ended with %v, its log is %s", err, r.log)
	}
	if _, err := net.Dial("tcp", r.HTTPS); err == nil {
		t.Error("it still listens")
	}
}

// maxPeerCertificates repeats the limit in the tlsserver package.
const maxPeerCertificates = 8

// TestRunHandshake_verifiesClientCertificates connects with different client certificates.
func TestRunHandshake_verifiesClientCertificates(t *testing.T) {
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
		s := serveTLS(t, c.authority, "ECHO_TLS_CLIENT_CERTIFICATE="+c.setting)
		for proto, client := range tlsClients(t, showing(s.config(), c.shown)) {
			if got := shownCertificate(t, client, s.address); got != c.want {
				t.Errorf("%s, %s: got %q, want %q", name, proto, got, c.want)
			}
		}
	}
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

// shownCertificate returns how a response describes the client certificate, or "" if there is no response.
func shownCertificate(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	response, err := client.Get("https://" + address + "/")
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	told := decode(t, string(data)).Client.Certificate
	switch {
	case told == nil:
		return "no certificate"
	case told.Verified:
		return "verified"
	}
	return "not verified"
}

func TestDescribeCertificate(t *testing.T) {
	known := echotest.NewAuthority(t, "known")
	pair := known.Issue(t, "client").Pair(t)
	s := serveTLS(t, known.PEM, "ECHO_TLS_CLIENT_CERTIFICATE=Request")
	digest := sha256.Sum256(pair.Leaf.Raw)
	want := &describe.Certificate{Subject: "CN=client", Issuer: "CN=known", NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
		AlternativeNames: []string{"DNS:client", "IP:127.0.0.1"}, SHA256: hex.EncodeToString(digest[:]), Verified: true}
	for proto, client := range tlsClients(t, s.config(pair)) {
		told := decode(t, echotest.Send(t, client, http.MethodGet, "https://"+s.address, "").Text)
		if diff := cmp.Diff(want, told.Client.Certificate); diff != "" {
			t.Errorf("%s (-want +got):\n%s", proto, diff)
		}
		block, _ := pem.Decode([]byte(strings.Join(told.TLS.PeerCertificates, "")))
		if block == nil || block.Type != "CERTIFICATE" || !cmp.Equal(block.Bytes, pair.Leaf.Raw) {
			t.Errorf("%s: the certificates are %q", proto, told.TLS.PeerCertificates)
		}
	}
}

// TestCertificates_rotatesAuthority checks that the server no longer trusts a certificate from the previous authority, even if the client
// resumes its session.
func TestCertificates_rotatesAuthority(t *testing.T) {
	old, next := echotest.NewAuthority(t, "old"), echotest.NewAuthority(t, "next")
	for setting, want := range map[string]string{"Request": "not verified", "Require": ""} {
		s := serveTLS(t, old.PEM, "ECHO_TLS_CLIENT_CERTIFICATE="+setting)
		server := s.authority.Issue(t, "first")
		s.volume.Update(t, echotest.SecretKeys(server, old.PEM))
		s.certificates.Rotate()
		config := showing(s.config(), []tls.Certificate{old.Issue(t, "client").Pair(t)})
		config.ClientSessionCache = tls.NewLRUClientSessionCache(9)
		clients := tlsClientList(t, config, false)
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
		s := serveTLS(t, "", "ECHO_TLS_CLIENT_CERTIFICATE="+setting)
		config := s.config()
		config.ClientSessionCache = tls.NewLRUClientSessionCache(9)
		for _, client := range tlsClientList(t, config, false) {
			echotest.Send(t, client, http.MethodGet, "https://"+s.address, "")
			if got := echotest.Send(t, client, http.MethodGet, "https://"+s.address, "").TLS.DidResume; got != want {
				t.Errorf("%s: the session is resumed: %t", setting, got)
			}
		}
	}
}

// maxHandshakes repeats the limit in the tlsserver package.
const maxHandshakes = 256

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

// TestRunHandshake_timesOut stops in the middle of a handshake, and measures when the server closes the connection.
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
			s := secureWith(t, listener, "")
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
				<-time.After(2 * transport.HeaderTimeout)
				_, err := conn.Read(make([]byte, 1))
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: after the time for the handshake %v", name, err)
				}
			}
			synctest.Wait()
			if took := time.Since(began); c.reads && took != transport.HeaderTimeout {
				t.Errorf("%s: closed after %s", name, took)
			}
			_ = s.server.Close()
		})
	}
}

// TestNewTLSListener_evictsOldestHandshake begins more handshakes than the limit allows. The server must abort the oldest one. A complete
// handshake must not count toward the limit.
func TestNewTLSListener_evictsOldestHandshake(t *testing.T) {
	hello := clientHello(t)
	synctest.Test(t, func(t *testing.T) {
		listener := echotest.NewMemoryListener()
		s := secureWith(t, listener, "")
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
		ended := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, first)
			close(ended)
		}()
		synctest.Wait()
		if isClosed(ended) || counted(s.metrics.rejected, transport.LimitHandshakes) != 0 {
			t.Errorf("at the limit %d are dropped", counted(s.metrics.rejected, transport.LimitHandshakes))
		}
		config := s.config()
		config.ServerName = "first"
		complete := listener.Dial(t)
		if err := tls.Client(complete, config).Handshake(); err != nil {
			t.Errorf("one over the limit fails: %v", err)
		}
		synctest.Wait()
		if !isClosed(ended) || counted(s.metrics.rejected, transport.LimitHandshakes) != 1 {
			t.Errorf("over the limit %d are dropped, the first: %t", counted(s.metrics.rejected, transport.LimitHandshakes), isClosed(ended))
		}
		open() // uses the slot that the complete handshake freed
		if counted(s.metrics.rejected, transport.LimitHandshakes) != 1 {
			t.Errorf("a complete handshake is still counted: %d are dropped", counted(s.metrics.rejected, transport.LimitHandshakes))
		}
		_ = complete.Close() // otherwise, closing the server waits until the client reads the alert
		synctest.Wait()
		_ = s.server.Close()
	})
}

// TestCarrier_closesQuickly closes the connections of a client that no longer reads.
func TestCarrier_closesQuickly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := echotest.NewMemoryListener()
		s := secureWith(t, listener, "")
		config := s.config()
		config.ServerName = "first"
		client := tls.Client(listener.Dial(t), config)
		if _, err := io.WriteString(client, "GET /-/livez HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(client).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Fatalf("the response is %q, %v", line, err)
		}
		synctest.Wait()
		began := time.Now()
		if err := s.server.Shutdown(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("it took %s, %v", time.Since(began), err)
		}
	})
}

// TestCarrier_limitsHandshakeSize sends a first message below the size limit and one above it, each with many protocol names.
func TestCarrier_limitsHandshakeSize(t *testing.T) {
	s := serveTLS(t, "")
	for size, want := range map[int]bool{12 << 10: true, 20 << 10: false} {
		config := s.config()
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

// TestCertificates_rotatesUnderLoad sends requests on new and persistent connections while the certificate is rotated.
func TestCertificates_rotatesUnderLoad(t *testing.T) {
	s := serveTLS(t, "")
	second := s.authority.Issue(t, "second")
	var mutex sync.Mutex
	seen := map[string]int{}
	count := func(name string) int {
		mutex.Lock()
		defer mutex.Unlock()
		return seen[name]
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, client := range append(tlsClientList(t, s.config(), false), tlsClientList(t, s.config(), true)...) {
		all.Go(func() {
			for ctx.Err() == nil {
				got := echotest.Send(t, client, http.MethodGet, "https://"+s.address+"/", "")
				mutex.Lock()
				seen[got.TLS.PeerCertificates[0].Subject.CommonName]++
				mutex.Unlock()
				if got.StatusCode != http.StatusOK {
					t.Errorf("a response has the status %d", got.StatusCode)
				}
			}
		})
	}
	echotest.Until(t, "the first certificate is seen", func() bool { return count("first") > 10 })
	s.volume.Update(t, echotest.SecretKeys(second, ""))
	s.certificates.Rotate()
	echotest.Until(t, "the second certificate is seen", func() bool { return count("second") > 10 })
	stop()
	all.Wait()
}

func tlsClientList(t *testing.T, config *tls.Config, reuse bool) (list []*http.Client) {
	for _, client := range tlsClients(t, config) {
		client.Transport.(*http.Transport).DisableKeepAlives = !reuse //nolint:forcetypeassert // tlsClients creates it
		list = append(list, client)
	}
	return list
}

func TestOptions_setTLS(t *testing.T) {
	s := settingsOf(t).tls
	if s.Address != "" || s.Folder != "/etc/echo-server/tls" || s.ClientCertificate != transport.ClientCertificateNone ||
		s.MinVersion != tls.VersionTLS12 || s.Ciphers != nil {
		t.Errorf("by default: %+v", s)
	}
	s = settingsOf(t, "ECHO_TLS_ADDR=:8443", "ECHO_TLS_DIR=/d", "ECHO_TLS_SECRET=web-tls", "ECHO_TLS_CLIENT_CERTIFICATE=Request",
		"ECHO_TLS_MIN_VERSION=VersionTLS13", "ECHO_TLS_CIPHERS=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_CBC_SHA").tls
	if s.Address != ":8443" || s.Folder != "/d" || s.Secret != "web-tls" || s.ClientCertificate != transport.ClientCertificateRequest ||
		s.MinVersion != tls.VersionTLS13 ||
		!slices.Equal(s.Ciphers, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA}) {
		t.Errorf("from the environment: %+v", s)
	}
}

// secured is a test server that serves HTTPS.
type secured struct {
	*handler
	server       *http.Server
	address      string // host and port
	certificates *transport.Certificates
	volume       *echotest.SecretVolume
	authority    *echotest.Authority   // issues the server's certificates
	log          echotest.LockedBuffer // the server's log, including rejections
}

// serveTLS serves a handler as the program does, over real TLS connections, with a certificate for the name "first".
func serveTLS(t *testing.T, clientAuthority string, environ ...string) *secured {
	t.Helper()
	inner := echotest.ListenLocally(t)
	s := secureWith(t, inner, clientAuthority, environ...)
	s.address = inner.Addr().String()
	return s
}

func secureWith(t *testing.T, inner net.Listener, clientAuthority string, environ ...string) *secured {
	t.Helper()
	s := &secured{authority: echotest.NewAuthority(t, "authority")}
	s.volume = echotest.NewSecretVolume(t, echotest.SecretKeys(s.authority.Issue(t, "first"), clientAuthority))
	s.handler = handlerOf(t, append(environ, "ECHO_TLS_ADDR=:0", "ECHO_TLS_DIR="+s.volume.Folder, "ECHO_TLS_SECRET=web-tls")...)
	certificates, err := transport.AwaitCertificates(t.Context(), s.tls, &s.metrics.tls, echotest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	b := boundsOf(s.metrics)
	b.Reporter = transport.NewReporter(slog.New(slog.NewJSONHandler(&s.log, nil)), s.metrics.Rejected)
	s.certificates, s.server = certificates, newServer(s.handler, transport.DefaultHeaderBytes, b.Reporter)
	go func() {
		_ = s.server.Serve(transport.NewBoundedListener(transport.NewTLSListener(inner, certificates, b.Reporter),
			transport.TLSConnectionCost, b))
	}()
	t.Cleanup(func() { _ = s.server.Close() })
	return s
}

// config returns a configuration for a client that trusts the server.
func (s *secured) config(certificates ...tls.Certificate) *tls.Config {
	trusted := x509.NewCertPool()
	trusted.AddCert(s.authority.Leaf)
	return &tls.Config{RootCAs: trusted, Certificates: certificates}
}

// tlsClients returns a client for each HTTP version that the server supports over TLS.
func tlsClients(t *testing.T, config *tls.Config) map[string]*http.Client {
	t.Helper()
	found := map[string]*http.Client{}
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		protocols := &http.Protocols{}
		protocols.SetHTTP1(proto == "HTTP/1.1")
		protocols.SetHTTP2(proto == "HTTP/2.0")
		transport := &http.Transport{TLSClientConfig: config.Clone(), Protocols: protocols}
		t.Cleanup(transport.CloseIdleConnections)
		found[proto] = &http.Client{Transport: transport, Timeout: 2 * echotest.Patience}
	}
	return found
}
