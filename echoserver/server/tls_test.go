package server

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"net"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// startTLS starts a server that also has an HTTPS port, and returns a configuration for clients.
func startTLS(t *testing.T, clientAuthority string, environ ...string) (*running, *tls.Config) {
	t.Helper()
	a := echotest.NewAuthority(t, "authority")
	volume := echotest.NewSecretVolume(t, echotest.SecretKeys(a.Issue(t, "first"), clientAuthority))
	environ = append(environ, "ECHO_DRAIN_DELAY=0s", "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+volume.Folder)
	return startRun(t, environ...), a.ClientConfig()
}

// TestRun_servesHTTPS starts and drains a server that has both an HTTP and an HTTPS port.
func TestRun_servesHTTPS(t *testing.T) {
	r, config := startTLS(t, "", "ECHO_POD_NAME=p")
	alpn := map[string]string{"HTTP/1.1": "", "HTTP/2.0": "h2"} // http.Transport offers http/1.1 only together with h2
	for proto, client := range echotest.TLSClients(t, config) {
		got := echotest.Send(t, client, http.MethodPost, "https://"+r.HTTPS+"/a", "hello")
		answer := decode(t, got.Text)
		want := &describe.TLS{Version: "TLSv1.3", ServerName: "first", NegotiatedProtocol: alpn[proto], CipherSuite: "TLS_AES_128_GCM_SHA256"}
		if diff := cmp.Diff(want, answer.TLS); diff != "" || got.Proto != proto || answer.Proto != proto ||
			!strings.HasSuffix(r.HTTPS, ":"+answer.Port) || answer.Request.Body.Data != "hello" {
			t.Errorf("%s: the response is by %s: %s (-want +got):\n%s", proto, got.Proto, got.Text, diff)
		}
	}
	for proto, client := range echotest.Clients(t) {
		answer := decode(t, echotest.Send(t, client, http.MethodGet, "http://"+r.Address, "").Text)
		if !strings.HasSuffix(r.Address, ":"+answer.Port) || answer.TLS != nil || answer.Proto != proto || answer.Pod != "p" {
			t.Errorf("without TLS: the port is %s of %s, the response %+v", answer.Port, r.Address, answer)
		}
	}
	read := families(t, echotest.Send(t, http.DefaultClient, http.MethodGet, "http://"+r.Admin+"/metrics", "").Text)
	for labels, want := range map[string]float64{"code=200,listener=http,method=GET,proto=HTTP/1.1": 1,
		"code=200,listener=http,method=GET,proto=HTTP/2.0":   1,
		"code=200,listener=https,method=POST,proto=HTTP/1.1": 1, "code=200,listener=https,method=POST,proto=HTTP/2.0": 1} {
		if got := values(read["echo_http_requests_total"])[labels]; got != want {
			t.Errorf("%s: %g are counted", labels, got)
		}
	}
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
	for _, address := range []string{r.HTTPS, r.Address, r.Admin} {
		if _, err := net.Dial("tcp", address); err == nil {
			t.Errorf("it still listens on %s", address)
		}
	}
}

// TestRun_describesTLS checks that each kind of response describes the connection. The client sends a server name that no certificate has.
func TestRun_describesTLS(t *testing.T) {
	r, config := startTLS(t, "")
	config.ServerName, config.InsecureSkipVerify = "first\xff", true
	clients, url := echotest.TLSClients(t, config), "https://"+r.HTTPS
	connection, _ := dialWebSocket(t, url+"/-/ws?echo.handshake=true", &websocket.DialOptions{HTTPClient: clients["HTTP/1.1"]})
	handshake, _ := readHandshake(t, connection)
	raw := describe.RawList{{Where: "serverName", Base64: []byte("first\xff")}}
	for proto, got := range map[string]decoded{"a WebSocket": handshake,
		"HTTP/1.1": decode(t, echotest.Send(t, clients["HTTP/1.1"], http.MethodGet, url, "").Text),
		"HTTP/2":   decode(t, echotest.Send(t, clients["HTTP/2.0"], http.MethodGet, url, "").Text)} {
		if diff := cmp.Diff(raw, got.Request.Raw); diff != "" || got.TLS == nil || got.TLS.ServerName != "first\uFFFD" {
			t.Errorf("%s: %+v (-want +got):\n%s", proto, got.TLS, diff)
		}
	}
	const suite = "TLS_AES_128_GCM_SHA256"
	echo, err := echov1.NewEchoClient(clients["HTTP/2.0"], url, connect.WithGRPC()).Unary(t.Context(), &echov1.EchoRequest{})
	want := &echov1.TLS{Version: "TLSv1.3", NegotiatedProtocol: "h2", CipherSuite: suite, ServerName: "first\uFFFD"}
	if err != nil || !proto.Equal(echo.Call.Tls, want) || len(echo.Call.Raw) != 1 || string(echo.Call.Raw[0].Value) != "first\xff" {
		t.Errorf("gRPC: %v, %v", echo, err)
	}
	theirs, err := grpcecho.NewGrpcEchoClient(clients["HTTP/2.0"], url, connect.WithGRPC()).Echo(t.Context(), &grpcecho.EchoRequest{})
	conformance := &grpcecho.TLSAssertions{Version: "TLSv1.3", NegotiatedProtocol: "h2", CipherSuite: suite, ServerName: "first\uFFFD"}
	if err != nil || !proto.Equal(theirs.Assertions.TlsAssertions, conformance) {
		t.Errorf("the service of the conformance suite: %v, %v", theirs, err)
	}
}

func TestDescribeCertificate(t *testing.T) {
	known := echotest.NewAuthority(t, "known")
	pair := known.Issue(t, "client").Pair(t)
	r, config := startTLS(t, known.PEM, "ECHO_TLS_CLIENT_CERTIFICATE=Request")
	config.Certificates = []tls.Certificate{pair}
	digest := sha256.Sum256(pair.Leaf.Raw)
	want := &describe.Certificate{Subject: "CN=client", Issuer: "CN=known", NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
		AlternativeNames: []string{"DNS:client", "IP:127.0.0.1"}, SHA256: hex.EncodeToString(digest[:]), Verified: true}
	for proto, client := range echotest.TLSClients(t, config) {
		text := echotest.Send(t, client, http.MethodGet, "https://"+r.HTTPS, "").Text
		answer := decode(t, text)
		if diff := cmp.Diff(want, answer.Client.Certificate); diff != "" {
			t.Errorf("%s (-want +got):\n%s", proto, diff)
		}
		// The client of the Gateway API conformance suite reads these names.
		for _, name := range []string{"tls", "version", "peerCertificates", "serverName", "cipherSuite", "httpPort"} {
			if !strings.Contains(text, `"`+name+`": `) {
				t.Errorf("%s: %s is missing in %s", proto, name, text)
			}
		}
		block, _ := pem.Decode([]byte(strings.Join(answer.TLS.PeerCertificates, "")))
		if block == nil || block.Type != "CERTIFICATE" || !cmp.Equal(block.Bytes, pair.Leaf.Raw) {
			t.Errorf("%s: the certificates are %q", proto, answer.TLS.PeerCertificates)
		}
	}
}
