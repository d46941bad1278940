package echotest

import (
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Clients returns a client for each protocol that the server supports.
func Clients(t *testing.T) map[string]*http.Client {
	t.Helper()
	h1, h2 := &http.Transport{}, &http.Transport{Protocols: OnlyHTTP2()}
	t.Cleanup(h1.CloseIdleConnections)
	t.Cleanup(h2.CloseIdleConnections)
	return map[string]*http.Client{"HTTP/1.1": {Transport: h1, Timeout: 2 * Patience}, "HTTP/2.0": {Transport: h2, Timeout: 2 * Patience}}
}

// OnlyHTTP2 returns the protocols for clients that use only HTTP/2, without TLS.
func OnlyHTTP2() *http.Protocols {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

// TLSClients returns a client for each protocol that the server supports over TLS.
func TLSClients(t *testing.T, config *tls.Config) map[string]*http.Client {
	t.Helper()
	found := map[string]*http.Client{}
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		protocols := &http.Protocols{}
		protocols.SetHTTP1(proto == "HTTP/1.1")
		protocols.SetHTTP2(proto == "HTTP/2.0")
		transport := &http.Transport{TLSClientConfig: config.Clone(), Protocols: protocols}
		t.Cleanup(transport.CloseIdleConnections)
		found[proto] = &http.Client{Transport: transport, Timeout: 2 * Patience}
	}
	return found
}

// Handshake contains the header lines of a WebSocket handshake, after the request line.
const Handshake = "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
	"dGhlIHNhbXBsZSBub25jZQ==\r\n"

// Reply is a response. Text is the body, if the body has been read.
type Reply struct {
	*http.Response
	Text string
}

// Send sends a request and reads the whole response.
func Send(t testing.TB, client *http.Client, method, url, body string, headers ...string) Reply {
	t.Helper()
	return Open(t, client, method, url, strings.NewReader(body), headers...).Whole(t)
}

// Open sends a request, but does not read the response's body, which is closed at the end of the test.
func Open(t testing.TB, client *http.Client, method, url string, body io.Reader, headers ...string) Reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	addHeaders(r, headers)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return Reply{Response: response}
}

func addHeaders(r *http.Request, headers []string) {
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
}

// Whole reads the body, and returns the response with the body.
func (r Reply) Whole(t testing.TB) Reply {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return Reply{r.Response, string(data)}
}

// Record calls a handler without a connection, and returns the response.
func Record(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	addHeaders(r, headers)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Status sends a GET request on a new connection, and returns the status code, or 0 if there is no response.
func Status(url string) int {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: Patience}
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// Exchanged sends text on a connection, and returns everything that arrives until the connection is closed.
func Exchanged(t *testing.T, connection net.Conn, text string) string {
	t.Helper()
	go func() { _, _ = io.WriteString(connection, text) }() // the server may respond before it has read everything
	got, err := io.ReadAll(connection)
	if err != nil {
		t.Error(err)
	}
	return string(got)
}

// GRPCMessage returns a gRPC message with its length prefix.
func GRPCMessage(message string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// Payload returns non-repeating text of the given size.
func Payload(size int) string {
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		text.WriteString(hex.EncodeToString([]byte{byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	return text.String()[:size]
}

// Unsized hides a body's length, so that the client sends the body in chunks.
type Unsized struct{ io.Reader }

// ExpectNoSecrets fails the test if given contains a secret that is not in sent.
func ExpectNoSecrets(t testing.TB, given, sent string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(given, secret) && !strings.Contains(sent, secret) {
			t.Errorf("the secret is revealed: %s", given)
		}
	}
}
