package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func dialWebSocket(t *testing.T, address string, headers http.Header) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), echotest.Patience)
	t.Cleanup(cancel)
	connection, response, err := websocket.Dial(ctx, address+"/-/ws", &websocket.DialOptions{HTTPHeader: headers})
	if err != nil {
		t.Fatal(err)
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	t.Cleanup(func() { _ = connection.CloseNow() })
	connection.SetReadLimit(2 * maxMessage)
	return connection
}

func TestSession_echoesMessages(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	ctx, cancel := context.WithTimeout(t.Context(), echotest.Patience)
	defer cancel()
	connection := dialWebSocket(t, server.URL, http.Header{"Origin": {"http://elsewhere.example"}})
	for _, size := range []int{0, 5, firstChunk - 1, firstChunk, firstChunk + 1, 200_000, maxMessage} {
		sent := echotest.Payload(size)
		for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
			if err := connection.Write(ctx, kind, []byte(sent)); err != nil {
				t.Fatal(err)
			}
			gotKind, got, err := connection.Read(ctx)
			if err != nil || gotKind != kind || string(got) != sent {
				t.Fatalf("of %d bytes as %s %d came back as %s, %v", len(sent), kind, len(got), gotKind, err)
			}
		}
	}
	if h.metrics.webSockets.Load() != 1 {
		t.Errorf("%d connections are counted", h.metrics.webSockets.Load())
	}
	if err := connection.Write(ctx, websocket.MessageText, []byte(echotest.Payload(maxMessage+1))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := connection.Read(ctx); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("one byte over the limit: %v", err)
	}
	echotest.Until(t, "the connection is closed and the rejection is counted", func() bool {
		return h.metrics.webSockets.Load() == 0 && counted(h.metrics.rejected, "websocket_message") == 1
	})
}

func TestSession_echoesConcurrently(t *testing.T) {
	server := serve(t, handlerOf(t))
	ctx, cancel := context.WithTimeout(t.Context(), echotest.Patience)
	defer cancel()
	var all sync.WaitGroup
	for range 50 {
		connection := dialWebSocket(t, server.URL, nil)
		all.Go(func() {
			for range 20 {
				err := connection.Write(ctx, websocket.MessageText, []byte("hello"))
				_, got, errRead := connection.Read(ctx)
				if err := errors.Join(err, errRead); err != nil || string(got) != "hello" {
					t.Errorf("got %q, %v", got, err)
					return
				}
			}
			if err := connection.Close(websocket.StatusNormalClosure, ""); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
	all.Wait()
}

// limitMessages limits the memory for messages to the given number of bytes.
func limitMessages(h *handler, bytes int64) { h.budget.Requests.Limit = (bytes + 2) / 3 * 4 }

// TestMessage_reservesOnlyReceivedBytes checks that a session reserves memory only for received data, not for the announced length, and
// none between messages.
func TestMessage_reservesOnlyReceivedBytes(t *testing.T) {
	const whole = maxMessage + maxChunk
	for name, c := range map[string]struct {
		sent     string
		peak     int64
		complete bool
	}{
		"a header":  {announced(finalBit|opcodeBinary, maxMessage, ""), firstChunk, false},
		"one byte":  {announced(finalBit|opcodeBinary, maxMessage, "x"), firstChunk, false},
		"one chunk": {announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(firstChunk)), 3 * firstChunk, false},
		"half a message": {announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(maxMessage/2)), maxMessage/2 + maxChunk,
			false},
		"a small message":           {textFrame("hello"), firstChunk, true},
		"a large message":           {textFrame(echotest.Payload(maxMessage)), whole, true},
		"many small fragments":      {masked(opcodeText, "") + strings.Repeat(masked(opcodeContinuation, "x"), 5000), 3 * firstChunk, false},
		"one message after another": {strings.Repeat(textFrame(echotest.Payload(1000)), 3), firstChunk, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			limitMessages(h, c.peak)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t))
			received := make(chan string, 10)
			go func() {
				for got := client.next(t); got != "end"; got = client.next(t) {
					received <- got
				}
				close(received)
			}()
			client.send(t, c.sent)
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); held > c.peak || (held == 0) != c.complete {
				t.Errorf("%s: %d bytes are held, want at most %d", name, held, c.peak)
			}
			_ = client.Close()
			for got := range received {
				if strings.HasPrefix(got, "close") {
					t.Errorf("%s: more than %d bytes were needed: %s", name, c.peak, got)
				}
			}
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); held != 0 || h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: after the connection was lost, %d bytes are held by %d sessions", name, held, h.metrics.webSockets.Load())
			}
		})
	}
}

// TestSession_closesWithoutMemory exhausts the memory budget after different amounts of received data.
func TestSession_closesWithoutMemory(t *testing.T) {
	for _, limit := range []int64{0, firstChunk - 1, firstChunk, maxMessage / 2, maxMessage} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			limitMessages(h, limit)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t), textFrame(echotest.Payload(maxMessage)), closeFrame(1000, ""))
			if got := client.all(t); !slices.Equal(got, []string{"close 1013 the server has used up its memory budget; try again later"}) {
				t.Errorf("with %d bytes: got %.200q", limit, got)
			}
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); counted(h.metrics.rejected, transport.LimitMemory) != 1 || held != 0 {
				t.Errorf("with %d bytes: the counts are %v, %d bytes are held", limit, h.metrics.rejected, held)
			}
		})
	}
}

// TestSession_handlesEachFrameKind sends frames that the session or its timers handle, and one frame of each kind that the WebSocket
// library rejects.
func TestSession_handlesEachFrameKind(t *testing.T) {
	end, last := closeFrame(1000, ""), masked(finalBit|opcodeContinuation, "c")
	for name, c := range map[string]struct {
		sent string
		want []string
	}{
		"a ping within a message": {masked(opcodeText, "a") + pingFrame("1") + last + end,
			[]string{"pong 1", "text ac", "close 1000"}},
		"a close frame":          {closeFrame(4999, "bye \u00e4"), []string{"close 4999 bye \u00e4"}},
		"a ping after closing":   {end + pingFrame("late"), []string{"close 1000"}},
		"close within a message": {masked(opcodeText, "a") + end, []string{"close 1000"}},
		"a character in two fragments": {masked(opcodeText, "\xce") + masked(finalBit|opcodeContinuation, "\xba") + end,
			[]string{"text \u03ba", "close 1000"}},
		"half a character in a binary message": {masked(finalBit|opcodeBinary, "\xce") + textFrame("\xba"),
			[]string{"binary \xce", "close 1007 a text"}},
		"half a character at the end":  {textFrame("ok\xce"), []string{"close 1007 a text"}},
		"not UTF-8 within a message":   {masked(opcodeText, "\xff"), []string{"close 1007 a text"}},
		"frames after text that fails": {textFrame("\xff") + pingFrame("late") + textFrame("late"), []string{"close 1007 a text"}},
		"fragments over the limit": {masked(opcodeBinary, echotest.Payload(maxMessage)) + masked(opcodeContinuation, "x"),
			[]string{"close 1009"}},
		"an empty fragment at the limit": {masked(opcodeBinary, echotest.Payload(maxMessage)) + masked(finalBit|opcodeContinuation, "") + end,
			[]string{"binary " + echotest.Payload(maxMessage), "close 1000"}},
		"not masked":                {"\x81\x05hello", []string{"close 1002"}},
		"a continuation of nothing": {last, []string{"close 1002"}},
		"a reserved opcode":         {masked(finalBit|3, ""), []string{"close 1002"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, listener := serveInMemory(t, handlerOf(t))
			got := openRaw(t, listener.Dial(t), c.sent).all(t)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) { // most reasons come from the library, so only their prefixes are compared
				t.Errorf("%s: got %.200q, want %.200q", name, got, c.want)
			}
		})
	}
}

// TestSession_deliversCloseFrameDespiteUnreadData checks over real connections that the client receives the close frame even if the server
// has not read all data.
func TestSession_deliversCloseFrameDespiteUnreadData(t *testing.T) {
	address := serve(t, handlerOf(t)).URL
	late := textFrame(echotest.Payload(512<<10)) + closeFrame(1000, "")
	for first, want := range map[string]string{closeFrame(1000, ""): "close 1000", masked(opcodePing, ""): "close 1002"} {
		client := openRaw(t, echotest.Dial(t, address))
		client.send(t, first+late) // sent before the server reads anything
		if got, end := client.next(t), client.next(t); !strings.HasPrefix(got, want) || end != "end" {
			t.Errorf("got %q and %q, want %q and the end", got, end, want)
		}
	}
}

// These constants are bits and values in a frame header (RFC 6455, 5.2).
const (
	finalBit           = 0x80
	opcodeContinuation = 0x0
	opcodeText         = 0x1
	opcodeBinary       = 0x2
	opcodeClose        = 0x8
	opcodePing         = 0x9
	opcodePong         = 0xA
	maskBit            = 0x80
	length16           = 126 // the length follows in 2 bytes
	length64           = 127 // the length follows in 8 bytes
)

// These constants repeat the limits in the websocket package.
const (
	maxMessage   = 1 << 20
	firstChunk   = 4 << 10
	maxChunk     = 64 << 10
	closeTimeout = 5 * time.Second
)

// rawClient is a WebSocket client that can violate any rule of the protocol.
type rawClient struct {
	net.Conn
	reader *bufio.Reader
}

const validHandshake = "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
	"dGhlIHNhbXBsZSBub25jZQ==\r\n"

// openRaw opens a WebSocket and sends frames together with the handshake request.
func openRaw(t *testing.T, connection net.Conn, frames ...string) *rawClient {
	t.Helper()
	c, response := handshake(t, connection, "/-/ws", nil, frames...)
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the response is %s", response.Status)
	}
	return c
}

// handshake sends a handshake request and frames in one write. It sends the additional headers unchanged.
func handshake(t *testing.T, connection net.Conn, target string, headers []string, frames ...string) (*rawClient, echotest.Reply) {
	t.Helper()
	request := "GET " + target + " HTTP/1.1\r\n" + validHandshake
	for i := 0; i < len(headers); i += 2 {
		request += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	request += "\r\n" + strings.Join(frames, "")
	go func() { _, _ = io.WriteString(connection, request) }() // the server may close the connection before it has read everything
	c := &rawClient{Conn: connection, reader: bufio.NewReader(connection)}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return c, echotest.Reply{Response: response}.Whole(t)
	}
	_ = response.Body.Close() // the response has no body
	return c, echotest.Reply{Response: response}
}

// send sends each frame in a separate packet.
func (c *rawClient) send(t *testing.T, frames ...string) {
	t.Helper()
	for _, frame := range frames {
		if _, err := io.WriteString(c, frame); err != nil {
			t.Fatal(err)
		}
	}
}

// next reads a message or control frame and returns it as text, such as "text hello" or "close 1000 bye". It returns "end" if either side
// has closed the connection.
func (c *rawClient) next(t *testing.T) string {
	t.Helper()
	final, opcode, payload, err := readFrame(c.reader)
	for err == nil && !final {
		var part []byte
		final, _, part, err = readFrame(c.reader)
		payload = append(payload, part...)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
		return "end"
	case err != nil:
		t.Fatal(err)
	case opcode == opcodeClose && len(payload) >= 2:
		return strings.TrimSpace(fmt.Sprintf("close %d %s", binary.BigEndian.Uint16(payload), payload[2:]))
	}
	names := map[byte]string{opcodeText: "text ", opcodeBinary: "binary ", opcodePong: "pong ", opcodeClose: "close"}
	return names[opcode] + string(payload)
}

// all reads messages and control frames until the connection is closed, and responds to the close frame.
func (c *rawClient) all(t *testing.T) []string {
	t.Helper()
	var got []string
	for {
		frame := c.next(t)
		if frame == "end" {
			return got
		}
		got = append(got, frame)
		if strings.HasPrefix(frame, "close") {
			_, _ = io.WriteString(c, masked(finalBit|opcodeClose, "")) // the server may have closed the connection already
		}
	}
}

// readFrame reads an unmasked frame from the server.
func readFrame(reader io.Reader) (final bool, opcode byte, payload []byte, err error) {
	var header [2]byte
	if _, err := io.ReadFull(reader, header[:]); err != nil {
		return false, 0, nil, err
	}
	length := [8]byte{7: header[1]}
	switch header[1] {
	case length16:
		_, err = io.ReadFull(reader, length[6:])
	case length64:
		_, err = io.ReadFull(reader, length[:])
	}
	if err != nil {
		return false, 0, nil, err
	}
	payload = make([]byte, binary.BigEndian.Uint64(length[:]))
	_, err = io.ReadFull(reader, payload)
	return header[0]&finalBit != 0, header[0] & 0x0F, payload, err
}

// masked returns a masked frame, as clients must send it. first is the byte with the flags and the opcode.
func masked(first byte, payload string) string {
	return announced(first, len(payload), payload)
}

// announced returns a frame whose header announces the given length. The payload can be shorter.
func announced(first byte, length int, payload string) string {
	key := [4]byte{0x12, 0xF0, 0x9A, 0x05}
	header := []byte{first, maskBit | byte(length)}
	switch {
	case length > 0xFFFF:
		header = binary.BigEndian.AppendUint64([]byte{first, maskBit | length64}, uint64(length))
	case length >= length16:
		header = binary.BigEndian.AppendUint16([]byte{first, maskBit | length16}, uint16(length))
	}
	header = append(header, key[:]...)
	data := []byte(payload)
	for i := range data {
		data[i] ^= key[i%len(key)]
	}
	return string(header) + string(data)
}

func textFrame(payload string) string { return masked(finalBit|opcodeText, payload) }

func pingFrame(payload string) string { return masked(finalBit|opcodePing, payload) }

func closeFrame(code uint16, reason string) string {
	return masked(finalBit|opcodeClose, string(binary.BigEndian.AppendUint16(nil, code))+reason)
}

// TestEchoHandshake sends handshakes that request an echo in each supported form, and handshakes that request none.
func TestEchoHandshake(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		target  string
		headers []string
		echoed  bool
	}{
		"no control":                  {nil, "/-/ws", nil, false},
		"by query":                    {nil, "/-/ws?echo.handshake=true", nil, true},
		"by header":                   {nil, "/-/ws", []string{"X-Echo-Handshake", "true"}, true},
		"under a prefix":              {nil, "/shop/-/ws?a=b&echo.handshake=true", nil, true},
		"escaped":                     {nil, "/-/ws?%65cho.handshake=%74rue", nil, true},
		"the query goes first":        {nil, "/-/ws?echo.handshake=false", []string{"X-Echo-Handshake", "true"}, false},
		"false":                       {nil, "/-/ws?echo.handshake=false", nil, false},
		"Full":                        {[]string{"ECHO_CONTROLS=Full"}, "/-/ws?echo.handshake=true", nil, true},
		"None":                        {[]string{"ECHO_CONTROLS=None"}, "/-/ws?echo.handshake=true", []string{"X-Echo-Handshake", "true"}, false},
		"None, an invalid value":      {[]string{"ECHO_CONTROLS=None"}, "/-/ws?echo.handshake=maybe", nil, false},
		"other controls":              {nil, "/-/ws?echo.status=1&echo.delay=30s", []string{"X-Echo-Size", "x"}, false},
		"with other controls":         {nil, "/-/ws?echo.status=1&echo.handshake=true", nil, true},
		"a fixed body":                {[]string{"ECHO_RESPONSE_BODY=gone"}, "/-/ws?echo.handshake=true", nil, true},
		"defaults apply only to HTTP": {[]string{"ECHO_RESPONSE_STATUS=503"}, "/-/ws", nil, false},
	} {
		h := handlerOf(t, c.environ...)
		client, response := handshake(t, echotest.Dial(t, serve(t, h).URL), c.target, c.headers, textFrame("early"))
		if response.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("%s: the response is %s: %s", name, response.Status, response.Text)
			continue
		}
		applied := map[bool]string{true: "handshake=true"}[c.echoed]
		if got := response.Header.Get("X-Echo-Applied"); got != applied {
			t.Errorf("%s: the applied controls are %q", name, got)
		}
		if c.echoed {
			expectHandshake(t, client.next(t), c.target)
			echotest.Until(t, "the control is counted", func() bool { return counted(h.metrics.controls, "handshake") == 1 })
		}
		client.send(t, textFrame("late"), closeFrame(1000, ""))
		if got, want := client.all(t), []string{"text early", "text late", "close 1000"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		echotest.Until(t, name+" is released", func() bool { return h.budget.Requests.Used.Load() == 0 })
	}
}

// expectHandshake fails the test if a message is not the echo of a handshake.
func expectHandshake(t *testing.T, message, target string) {
	t.Helper()
	echo := decodeHandshake(t, message)
	if echo.Path != target || echo.Method != http.MethodGet || echo.Applied["handshake"] != true ||
		echo.Headers["Sec-Websocket-Key"][0] != "dGhlIHNhbXBsZSBub25jZQ==" || echo.Request.Body != nil {
		t.Errorf("the echo is %+v", echo)
	}
}

// decodeHandshake returns the echo in a message.
func decodeHandshake(t *testing.T, message string) decoded {
	t.Helper()
	text, isText := strings.CutPrefix(message, "text ")
	if !isText || !utf8.ValidString(text) || strings.HasSuffix(text, "\n") {
		t.Fatalf("the first message is %q", message)
	}
	return decode(t, text)
}

// TestEchoHandshake_showsProxyHeaders sends the headers that proxies add, including one with a secret.
func TestEchoHandshake_showsProxyHeaders(t *testing.T) {
	h := handlerOf(t, "ECHO_REDACT_HEADERS=Sec-WebSocket-Protocol", "ECHO_TRUSTED_PROXIES=127.0.0.1")
	client, _ := handshake(t, echotest.Dial(t, serve(t, h).URL), "/-/ws?echo.handshake=true&q=%E9", []string{"Origin", "https://shop.example",
		"X-Forwarded-Proto", "wss", "X-Forwarded-For", "203.0.113.7", "Cookie", "a=hunter2", "X-Name", latin1, "X-Request-Id", "id-7",
		"Sec-WebSocket-Protocol", "bearer, hunter2", "Sec-WebSocket-Extensions", "permessage-deflate"})
	message := client.next(t)
	echo := decodeHandshake(t, message)
	for name, want := range map[string]string{"Origin": "https://shop.example", "X-Forwarded-Proto": "wss", "Connection": "Upgrade",
		"Upgrade": "websocket", "Sec-Websocket-Extensions": "permessage-deflate", "X-Name": "caf\uFFFD"} {
		if got := echo.Headers[name]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	want := describe.RawList{{Where: "header", Name: "X-Name", Base64: []byte(latin1)}, {Where: "query", Name: "q", Base64: []byte("\xe9")}}
	if diff := cmp.Diff(want, echo.Request.Raw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(message, "hunter2") || echo.Client.Address != "203.0.113.7" || echo.Request.ID != "id-7" ||
		!slices.Contains(echo.Request.HeaderNames, "Sec-WebSocket-Key") {
		t.Errorf("the message is %s", message)
	}
}

// TestEchoHandshake_hidesIdentityFromOtherOrigins checks that a handshake echo reveals where the server runs only to clients that can read
// ordinary echoes.
func TestEchoHandshake_hidesIdentityFromOtherOrigins(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		headers []string
		shown   bool
	}{
		"no page":                  {nil, nil, true},
		"a page of the server":     {nil, []string{"Origin", "https://a"}, true},
		"a page of another origin": {nil, []string{"Origin", "https://evil.example"}, false},
		"a page without an origin": {nil, []string{"Origin", "null"}, false},
		"an origin that is no URL": {nil, []string{"Origin", "https://a:b"}, false},
		"a name that begins alike": {nil, []string{"Origin", "https://a.evil.example"}, false},
		"Full, another origin":     {[]string{"ECHO_CONTROLS=Full"}, []string{"Origin", "https://evil.example"}, true},
		"the setting":              {[]string{"ECHO_IDENTITY=false"}, nil, false},
		"the setting, Full":        {[]string{"ECHO_IDENTITY=false", "ECHO_CONTROLS=Full"}, nil, false},
	} {
		h := handlerOf(t, append(c.environ, "POD_NAME=pod-1")...)
		client, _ := handshake(t, echotest.Dial(t, serve(t, h).URL), "/-/ws?echo.handshake=true",
			append(c.headers, "X-Forwarded-Proto", "wss"))
		message := client.next(t)
		if echo := decodeHandshake(t, message); (echo.Pod != "") != c.shown || (echo.Client.Remote != "") != c.shown ||
			echo.Headers["X-Forwarded-Proto"][0] != "wss" {
			t.Errorf("%s: the message is %s", name, message)
		}
	}
}

// TestEchoHandshake_describesTLS checks that the echo describes the TLS connection of the handshake.
func TestEchoHandshake_describesTLS(t *testing.T) {
	s := serveTLS(t, "")
	config := s.config()
	config.ServerName = "first"
	client, _ := handshake(t, tls.Client(echotest.Dial(t, "http://"+s.address), config), "/-/ws?echo.handshake=true", nil)
	if echo := decodeHandshake(t, client.next(t)); echo.TLS == nil || echo.TLS.ServerName != "first" {
		t.Errorf("TLS is %+v", echo.TLS)
	}
}

// TestEchoHandshake_acceptsLongHeader sends a header of nearly the maximum size with characters that need the longest escapes.
func TestEchoHandshake_acceptsLongHeader(t *testing.T) {
	h := handlerOf(t)
	long := strings.Repeat("\xff", transport.DefaultHeaderBytes-1000)
	client, _ := handshake(t, echotest.Dial(t, serve(t, h).URL), "/-/ws", []string{"X-Echo-Handshake", "true", "X-Name", long})
	echo := decodeHandshake(t, client.next(t))
	if raw := echo.Request.Raw; len(raw) != 1 || string(raw[0].Base64) != long {
		t.Errorf("%d values are listed", len(raw))
	}
	client.send(t, textFrame("hello"))
	if got := client.next(t); got != "text hello" {
		t.Errorf("then comes %q", got)
	}
	echotest.Until(t, "the echo is released", func() bool { return h.budget.Requests.Used.Load() < transport.DefaultHeaderBytes*3 })
}

func TestEchoHandshake_rejectsInvalidRequests(t *testing.T) {
	for name, c := range map[string]struct {
		target  string
		headers []string
		memory  int64
		status  int
		why     string
	}{
		"an invalid value":         {"/-/ws?echo.handshake=maybe", nil, 1 << 20, 400, `echo.handshake: "maybe" is neither true nor false`},
		"an empty value":           {"/-/ws?echo.handshake", nil, 1 << 20, 400, "echo.handshake: "},
		"twice":                    {"/-/ws?echo.handshake=true&echo.handshake=true", nil, 1 << 20, 400, "specified more than once"},
		"an invalid header":        {"/-/ws", []string{"X-Echo-Handshake", "1"}, 1 << 20, 400, "X-Echo-Handshake: "},
		"a malformed query":        {"/-/ws?echo.handshake=%zz", nil, 1 << 20, 400, "cannot be parsed"},
		"no memory":                {"/-/ws?echo.handshake=true", nil, 1000, 503, transport.OverBudget},
		"a path without WebSocket": {"/?echo.handshake=true", nil, 1 << 20, 400, "handshake: applies only to a WebSocket"},
	} {
		h := handlerOf(t)
		h.budget.Requests.Limit = c.memory
		_, response := handshake(t, echotest.Dial(t, serve(t, h).URL), c.target, c.headers)
		if response.StatusCode != c.status || !strings.Contains(response.Text, c.why) {
			t.Errorf("%s: the response is %s: %s", name, response.Status, response.Text)
		}
	}
}

// TestLogHandshake requests WebSockets, in some cases with invalid handshakes. At the debug level, the server must log the headers of these
// requests, and of no other requests.
func TestLogHandshake(t *testing.T) {
	for name, c := range map[string]struct {
		level  string
		target string
		lines  string
		logged bool
	}{
		"info":                            {"info", "/-/ws", validHandshake, false},
		"debug":                           {"debug", "/-/ws?q=%E9", validHandshake, true},
		"under a prefix":                  {"debug", "/shop/-/ws", validHandshake, true},
		"an option that a proxy removed":  {"debug", "/-/ws", strings.Replace(validHandshake, "Connection: Upgrade\r\n", "", 1), true},
		"an upgrade that a proxy removed": {"debug", "/-/ws", "Host: a\r\nConnection: close\r\n", true},
		"an ordinary request":             {"debug", "/", "Host: a\r\nConnection: close\r\n", false},
	} {
		h, log := loggedHandler(t, "ECHO_LOG_LEVEL="+c.level)
		connection := echotest.Dial(t, serve(t, h).URL)
		request := "GET " + c.target + " HTTP/1.1\r\n" + c.lines + "X-Forwarded-Proto: wss\r\nX-Name: " + latin1 +
			"\r\nAuthorization: Bearer hunter2\xe9\r\n\r\n"
		if _, err := io.WriteString(connection, request); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(connection).ReadString('\n'); err != nil {
			t.Errorf("%s: there is no response: %v", name, err)
		}
		_ = connection.Close() // the server logs a WebSocket when the WebSocket closes
		echotest.Until(t, name+": the request is logged", func() bool { return strings.Contains(log.String(), `"msg":"request"`) })
		expectHandshakeLine(t, name, log.String(), c.target, c.logged)
	}
}

// expectHandshakeLine checks that the first log line is the echo of a handshake if and only if expected is true.
func expectHandshakeLine(t *testing.T, name, log, target string, expected bool) {
	t.Helper()
	first, _, _ := strings.Cut(log, "\n")
	var line struct {
		Level slog.Level
		Msg   string
		ID    string
		Echo  decoded
	}
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		t.Fatal(err)
	}
	if isLogged := line.Msg == "handshake"; isLogged != expected || strings.Contains(log, "hunter2") ||
		strings.Contains(log, "X-Forwarded-Proto") != expected {
		t.Errorf("%s: the log is %s", name, log)
	}
	if expected && (line.Level != slog.LevelDebug || line.ID != line.Echo.Request.ID || line.Echo.Path != target ||
		string(line.Echo.Request.Raw[0].Base64) != latin1) {
		t.Errorf("%s: the line is %s", name, first)
	}
}

// TestHandshake changes one header of a valid handshake at a time. The key and the response to it are from RFC 6455, 1.3.
func TestHandshake(t *testing.T) {
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	for name, c := range map[string]struct {
		header      string
		values      []string
		status      int
		subprotocol string
		reason      string
	}{
		"valid":                      {"X-A", nil, http.StatusSwitchingProtocols, "", ""},
		"several connection options": {"Connection", []string{"keep-alive, Upgrade"}, http.StatusSwitchingProtocols, "", ""},
		"several connection headers": {"Connection", []string{"keep-alive", "UPGRADE"}, http.StatusSwitchingProtocols, "", ""},
		"no connection option":       {"Connection", []string{"keep-alive"}, http.StatusBadRequest, "", "Connection"},
		"a name that begins alike":   {"Connection", []string{"Upgrades"}, http.StatusBadRequest, "", "Connection"},
		"another protocol, too":      {"Upgrade", []string{"h2c, WebSocket"}, http.StatusSwitchingProtocols, "", ""},
		"no key":                     {"Sec-WebSocket-Key", nil, http.StatusBadRequest, "", "Sec-WebSocket-Key"},
		"two keys":                   {"Sec-WebSocket-Key", []string{key, key}, http.StatusBadRequest, "", "Sec-WebSocket-Key"},
		"a short key":                {"Sec-WebSocket-Key", []string{"c2hvcnQ="}, http.StatusBadRequest, "", "Sec-WebSocket-Key"},
		"a key that is not base64":   {"Sec-WebSocket-Key", []string{strings.Repeat("!", 24)}, http.StatusBadRequest, "", "Sec-WebSocket-Key"},
		"a key with rests of bits": {"Sec-WebSocket-Key", []string{"dGhlIHNhbXBsZSBub25jZR=="}, http.StatusBadRequest, "",
			"Sec-WebSocket-Key"},
		"no version":                    {"Sec-WebSocket-Version", nil, http.StatusUpgradeRequired, "", "Sec-WebSocket-Version"},
		"another version":               {"Sec-WebSocket-Version", []string{"8"}, http.StatusUpgradeRequired, "", "Sec-WebSocket-Version"},
		"several versions":              {"Sec-WebSocket-Version", []string{"13", "8"}, http.StatusUpgradeRequired, "", "Sec-WebSocket-Version"},
		"a body":                        {"Content-Length", []string{"1"}, http.StatusBadRequest, "", "body"},
		"a body of unknown length":      {"Transfer-Encoding", []string{"chunked"}, http.StatusBadRequest, "", "body"},
		"one sub-protocol":              {"Sec-WebSocket-Protocol", []string{"graphql-ws"}, http.StatusSwitchingProtocols, "graphql-ws", ""},
		"several sub-protocols":         {"Sec-WebSocket-Protocol", []string{"a.B_2, b"}, http.StatusSwitchingProtocols, "a.B_2", ""},
		"several sub-protocol headers":  {"Sec-WebSocket-Protocol", []string{" ,", "b", "c"}, http.StatusSwitchingProtocols, "b", ""},
		"an empty sub-protocol":         {"Sec-WebSocket-Protocol", []string{""}, http.StatusSwitchingProtocols, "", ""},
		"a sub-protocol that is none":   {"Sec-WebSocket-Protocol", []string{"a b"}, http.StatusBadRequest, "", "Sec-WebSocket-Protocol"},
		"an extension is not agreed on": {"Sec-WebSocket-Extensions", []string{"permessage-deflate"}, http.StatusSwitchingProtocols, "", ""},
	} {
		server := serve(t, handlerOf(t))
		headers := http.Header{"Host": {"a"}, "Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Key": {key},
			"Sec-Websocket-Version": {"13"}}
		headers[http.CanonicalHeaderKey(c.header)] = c.values
		got := rawResponse(t, server.URL, "GET /shop/-/ws HTTP/1.1", headers)
		if got.StatusCode != c.status {
			t.Errorf("%s: the status is %d, want %d", name, got.StatusCode, c.status)
		}
		want := http.Header{}
		switch c.status {
		case http.StatusSwitchingProtocols:
			want.Set("Upgrade", "websocket")
			want.Set("Connection", "Upgrade")
			want.Set("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
		case http.StatusUpgradeRequired:
			want.Set("Upgrade", "websocket")
			want.Set("Connection", "Upgrade")
			want.Set("Sec-WebSocket-Version", "13")
		}
		if c.subprotocol != "" {
			want.Set("Sec-WebSocket-Protocol", c.subprotocol)
		}
		for _, header := range []string{"Upgrade", "Connection", "Sec-WebSocket-Accept", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol",
			"Sec-WebSocket-Extensions"} {
			if !slices.Equal(got.Header.Values(header), want.Values(header)) {
				t.Errorf("%s: %s is %q, want %q", name, header, got.Header.Values(header), want.Values(header))
			}
		}
		if want.Set("Date", ""); c.status == http.StatusSwitchingProtocols && len(got.Header) != len(want) {
			t.Errorf("%s: the header is %v", name, got.Header)
		}
		if c.reason != "" && (!strings.Contains(got.Text, c.reason) || strings.Count(got.Text, "\n") != 1) {
			t.Errorf("%s: the reason is %q", name, got.Text)
		}
	}
}

// rawResponse sends a request unchanged, followed by enough data for any body, and returns the response.
func rawResponse(t *testing.T, address, line string, headers http.Header) echotest.Reply {
	t.Helper()
	var request strings.Builder
	request.WriteString(line + "\r\n")
	if err := headers.Write(&request); err != nil {
		t.Fatal(err)
	}
	connection := echotest.Dial(t, address)
	defer func() { _ = connection.Close() }()
	if _, err := io.WriteString(connection, request.String()+"\r\n0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return echotest.Reply{Response: response}.Whole(t)
}

// TestServe_recognizesHandshakes sends requests that are not WebSocket handshakes because of their HTTP version or the protocol that they request.
func TestServe_recognizesHandshakes(t *testing.T) {
	server := serve(t, handlerOf(t))
	valid := http.Header{"Host": {"a"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		"Sec-Websocket-Version": {"13"}}
	other := valid.Clone()
	other.Set("Upgrade", "h2c")
	for name, got := range map[string]echotest.Reply{
		"HTTP/1.0":         rawResponse(t, server.URL, "GET /-/ws HTTP/1.0", valid),
		"another protocol": rawResponse(t, server.URL, "GET /-/ws HTTP/1.1", other),
	} {
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != describe.PageType {
			t.Errorf("%s: the response is %d %s", name, got.StatusCode, got.Header.Get("Content-Type"))
		}
	}
}

// TestUpgrade_keepsEarlyFrames sends frames in the same packet as the handshake, before the WebSocket is open.
func TestUpgrade_keepsEarlyFrames(t *testing.T) {
	client := openRaw(t, echotest.Dial(t, serve(t, handlerOf(t)).URL), textFrame("early"), pingFrame("1"), textFrame(echotest.Payload(10_000)),
		closeFrame(1000, ""))
	if got, want := client.all(t), []string{"text early", "pong 1", "text " + echotest.Payload(10_000), "close 1000"}; !slices.Equal(got,
		want) {
		t.Errorf("got %.100q", got)
	}
}

// late is the server's close frame if a client takes too long to send a frame or message.
const late = "close 1008 the message was not received in time"

// TestSession_enforcesDeadlines exceeds the time limits in every state of a session. A client that does not respond to the close frame gets
// another 5 s.
func TestSession_enforcesDeadlines(t *testing.T) {
	const (
		seconds = time.Second
		silent  = "close 1001 nothing was received for 10m20s"
	)
	begun := append([]string{masked(opcodeText, "x")}, slices.Repeat([]string{pingFrame("")}, 9)...)
	slow := append([]string{announced(finalBit|opcodeBinary, 1000, "")}, strings.Split(echotest.Payload(900), "")...)
	for name, c := range map[string]struct {
		sent  []string
		pause time.Duration // how long the client waits after each frame
		takes time.Duration // the expected time from the handshake until the server's close frame
		want  string
	}{
		"nothing":               {nil, 0, 620 * seconds, silent},
		"nothing after a ping":  {[]string{pingFrame("")}, 0, 620 * seconds, silent},
		"pings keep it open":    {slices.Repeat([]string{pingFrame("")}, 3), 619 * seconds, (2*619 + 620) * seconds, silent},
		"messages keep it open": {[]string{textFrame("x"), textFrame("x")}, 619 * seconds, (619 + 620) * seconds, silent},
		"pongs keep it open": {slices.Repeat([]string{masked(finalBit|opcodePong, "")}, 2), 619 * seconds, (619 + 620) * seconds,
			silent},
		"part of a frame at the end":    {[]string{pingFrame(""), "\x81"}, 619 * seconds, (619 + 30) * seconds, late},
		"one byte":                      {[]string{"\x81"}, 0, 30 * seconds, late},
		"part of a header":              {[]string{"\x81\xfe\x00"}, 0, 30 * seconds, late},
		"a header alone":                {[]string{announced(finalBit|opcodeText, 1000, "")}, 0, 30 * seconds, late},
		"part of a frame":               {[]string{announced(finalBit|opcodeText, 1000, "x")}, 0, 30 * seconds, late},
		"part of a message":             {[]string{masked(opcodeText, "x")}, 0, 30 * seconds, late},
		"a message that moves slowly":   {slow, 29 * seconds, 120 * seconds, late},
		"pings do not extend a message": {begun, 20 * seconds, 120 * seconds, late},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t))
			began := time.Now()
			go func() {
				for _, frame := range c.sent {
					_, _ = io.WriteString(client, frame) // the server may have closed the connection already
					select {
					case <-time.After(c.pause):
					case <-t.Context().Done():
						return
					}
				}
			}()
			got := client.next(t)
			for got == "pong " || got == "text x" {
				got = client.next(t)
			}
			if took := time.Since(began); got != c.want || took != c.takes {
				t.Errorf("%s: after %s comes %q, want %q after %s", name, took, got, c.want, c.takes)
			}
			if got := client.next(t); got != "end" || time.Since(began) != c.takes+5*time.Second {
				t.Errorf("%s: the connection ends after %s, %s", name, time.Since(began), got)
			}
			synctest.Wait()
			if h.metrics.webSockets.Load() != 0 || h.metrics.inFlight.Load() != 0 {
				t.Errorf("%s: the WebSocket is counted as open", name)
			}
			if counted(h.metrics.requests, "http", "HTTP/1.1", "GET", "101") != 1 {
				t.Errorf("%s: the counts are %v", name, series(t, h.metrics, "echo_http_requests_total"))
			}
		})
	}
}

// TestSession_closesOnLateFrame sends the handshake together with only the first part of a frame.
func TestSession_closesOnLateFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		client := openRaw(t, listener.Dial(t), "\x81")
		began := time.Now()
		if got := client.next(t); got != late || time.Since(began) != exchange.StallTimeout {
			t.Errorf("after %s comes %q", time.Since(began), got)
		}
	})
}

// TestSession_endsOnLateControlFrame sends only part of a ping. The library then closes the connection without a close frame, because RFC
// 6455 (7.1.7) does not require one.
func TestSession_endsOnLateControlFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		client := openRaw(t, listener.Dial(t), announced(finalBit|opcodePing, 5, "x"))
		began := time.Now()
		if got := client.next(t); got != "end" || time.Since(began) != 5*time.Second {
			t.Errorf("after %s comes %q", time.Since(began), got)
		}
		synctest.Wait()
		if h.metrics.webSockets.Load() != 0 {
			t.Error("the WebSocket is counted as open")
		}
	})
}

// halfClosed is a connection whose sending side can be closed without the client noticing.
type halfClosed struct {
	net.Conn
	closed *atomic.Bool
}

func (c halfClosed) CloseWrite() error {
	c.closed.Store(true)
	return c.SetWriteDeadline(time.Now())
}

// TestSession_keepsReadingAfterClose sends frames that close the WebSocket, but does not close the connection. The server must continue to
// read for a while, so that data from the client does not cause a reset.
func TestSession_keepsReadingAfterClose(t *testing.T) {
	for name, c := range map[string]struct {
		sent   string
		memory int64
		want   string
	}{
		"over the limit": {announced(finalBit|opcodeBinary, 2*maxMessage, echotest.Payload(maxMessage+1)), 2 * maxMessage, "close 1009"},
		"not UTF-8":      {announced(finalBit|opcodeText, maxMessage, strings.Repeat("\xff", firstChunk)), maxMessage, "close 1007"},
		"without memory": {announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(firstChunk)), firstChunk, "close 1013"},
		"not masked":     {"\x81\x7e\xff\xffx", maxMessage, "close 1002"},
		"a reserved bit": {masked(opcodeText, "x") + announced(finalBit|0x40|opcodeContinuation, 1000, "x"), maxMessage, "close 1002"},
		"a close frame":  {closeFrame(1000, ""), maxMessage, "close 1000"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			limitMessages(h, c.memory)
			_, listener := serveInMemory(t, h)
			near, far := net.Pipe()
			t.Cleanup(func() { _ = near.Close() })
			var closed atomic.Bool
			listener.Connections <- halfClosed{far, &closed}
			client := openRaw(t, near, c.sent)
			began := time.Now()
			if got := client.next(t); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: got %q", name, got)
			}
			synctest.Wait()
			if !closed.Load() {
				t.Errorf("%s: the server processes what follows", name)
			}
			client.send(t, echotest.Payload(maxMessage))
			if end := client.next(t); end != "end" || time.Since(began) != closeTimeout {
				t.Errorf("%s: after %s comes %q", name, time.Since(began), end)
			}
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); held != 0 || h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: %d bytes are held by %d sessions", name, held, h.metrics.webSockets.Load())
			}
		})
	}
}

// TestSession_dropsIncompleteMessage closes the sending side of the connection in the middle of a message. The incomplete message must not
// be echoed.
func TestSession_dropsIncompleteMessage(t *testing.T) {
	address := serve(t, handlerOf(t)).URL
	for _, sent := range []string{announced(finalBit|opcodeText, 3, ""), announced(finalBit|opcodeText, 3, "ab"), masked(opcodeText, "ab")} {
		connection := echotest.Dial(t, address)
		client := openRaw(t, connection)
		client.send(t, sent)
		if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := client.all(t); !slices.Equal(got, []string{"close 1002 the frame is not valid"}) {
			t.Errorf("%q: got %q", sent, got)
		}
	}
}

// TestSession_endsIfClientStopsReading stops reading in the middle of an echoed message.
func TestSession_endsIfClientStopsReading(t *testing.T) {
	for name, c := range map[string]struct {
		stop  bool // the server stops immediately
		takes time.Duration
	}{
		"serving":  {false, 30 * time.Second},
		"stopping": {true, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t))
			client.send(t, textFrame("hello"))
			synctest.Wait()
			if c.stop {
				close(h.life.ending)
			}
			<-time.After(c.takes - 1)
			if h.metrics.webSockets.Load() != 1 {
				t.Errorf("%s: the server does not wait until the client reads", name)
			}
			<-time.After(1)
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); held != 0 || h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: the server waits for a client that does not read, and holds %d bytes", name, held)
			}
		})
	}
}

// TestSession_endsWithServer stops the server in several states of a session. If the client closes the WebSocket, the session ends
// without further delay.
func TestSession_endsWithServer(t *testing.T) {
	for name, sent := range map[string]string{
		"idle":             "",
		"within a header":  "\x81\xfe",
		"within a frame":   announced(finalBit|opcodeText, 3, "x"),
		"within a message": masked(opcodeText, "x"),
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t))
			client.send(t, sent)
			synctest.Wait()
			began := time.Now()
			close(h.life.ending)
			if got := client.next(t); got != "close 1001 the server is stopping" {
				t.Errorf("%s: the reported end is %q", name, got)
			}
			whole := map[string]string{"within a header": "\x00\x80\x00\x00\x00\x00" + echotest.Payload(128), "within a frame": "yz"}
			client.send(t, whole[name], textFrame("late"), closeFrame(1001, ""))
			if got := client.next(t); got != "end" || time.Since(began) != 0 {
				t.Errorf("%s: after %s comes %q", name, time.Since(began), got)
			}
		})
	}
}

// TestSession_closesIfServerIsStopping opens a WebSocket when the server is already stopping.
func TestSession_closesIfServerIsStopping(t *testing.T) {
	h := handlerOf(t)
	close(h.life.ending)
	if got := openRaw(t, echotest.Dial(t, serve(t, h).URL)).all(t); !slices.Equal(got, []string{"close 1001 the server is stopping"}) {
		t.Errorf("got %q", got)
	}
}
