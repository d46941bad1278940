// Package echotest provides clients, servers, listeners, certificates, and wait functions for the tests of the echo server and pathcheck.
package echotest

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
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

// maxFrame is the largest frame that every server accepts (RFC 9113, 4.2).
const maxFrame = 16 << 10

// Greet starts an HTTP/2 connection by sending the client preface.
func Greet(connection net.Conn, settings ...http2.Setting) (*http2.Framer, error) {
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		return nil, err
	}
	framer := http2.NewFramer(connection, connection)
	return framer, framer.WriteSettings(settings...)
}

// FieldBlock returns an encoded header that contains only the given fields. It adds none of them to the table of the connection.
func FieldBlock(fields ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true}) // writing to a buffer never fails
	}
	return block.Bytes()
}

// HeaderBlock returns the encoded header of a request to the authority a.
func HeaderBlock(method, path string, fields ...string) []byte {
	return HeaderBlockTo("a", method, path, fields...)
}

// HeaderBlockTo is like HeaderBlock, but with the given authority.
func HeaderBlockTo(authority, method, path string, fields ...string) []byte {
	return FieldBlock(append([]string{":method", method, ":path", path, ":scheme", "http", ":authority", authority}, fields...)...)
}

// WriteHeader writes a header in frames that are small enough for every server.
func WriteHeader(framer *http2.Framer, stream uint32, block []byte, endStream, endHeaders bool) error {
	first := min(len(block), maxFrame)
	err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block[:first], EndStream: endStream,
		EndHeaders: endHeaders && first == len(block)})
	for block = block[first:]; err == nil && len(block) > 0; {
		next := min(len(block), maxFrame)
		err = framer.WriteContinuation(stream, endHeaders && next == len(block), block[:next])
		block = block[next:]
	}
	return err
}

// Quiet returns a logger that discards all lines.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Patience is the maximum time that a test waits for an expected result.
const Patience = 30 * time.Second

// Until waits until done returns true, and fails the test if the wait takes too long.
func Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !done(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", Patience, what)
		}
	}
}

// LockedBuffer is a buffer that several goroutines can use at the same time.
type LockedBuffer struct {
	// Mutex blocks writers while a test holds it.
	Mutex sync.Mutex
	data  bytes.Buffer
}

// Write implements io.Writer.
func (b *LockedBuffer) Write(p []byte) (int, error) {
	b.Mutex.Lock()
	defer b.Mutex.Unlock()
	return b.data.Write(p)
}

// String returns the text that has been written to the buffer.
func (b *LockedBuffer) String() string {
	b.Mutex.Lock()
	defer b.Mutex.Unlock()
	return b.data.String()
}
