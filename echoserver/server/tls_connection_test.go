package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
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

// TestNewListener_limitsVersionsAndCiphers connects with TLS versions and cipher suites that the settings allow, and with others.
func TestNewListener_limitsVersionsAndCiphers(t *testing.T) {
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

func TestNewListener_negotiatesProtocol(t *testing.T) {
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

// TestRejectPlain sends a plain HTTP request to the HTTPS port.
func TestRejectPlain(t *testing.T) {
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

// TestNewListener_sendsCloseNotify sends a body that is too large. The client must get the whole response, and then the TLS close_notify
// alert.
func TestNewListener_sendsCloseNotify(t *testing.T) {
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

// TestNewListener_servesStreams exchanges a WebSocket message, and reads server-sent events as they arrive.
func TestNewListener_servesStreams(t *testing.T) {
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
