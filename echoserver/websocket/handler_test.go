package websocket

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// echoServer serves WebSockets over the transport.
type echoServer struct {
	*Handler
	pool     transport.Pool
	open     atomic.Int64
	ending   chan struct{}
	inFlight atomic.Int64 // requests
	mutex    sync.Mutex
	rejected []string
	first    string // the first message, unless it is empty
}

func newEchoServer() *echoServer {
	s := &echoServer{pool: transport.Pool{Limit: 1 << 40}, ending: make(chan struct{})}
	s.Handler = &Handler{Ending: s.ending, Sessions: &sync.WaitGroup{}, Open: &s.open, Log: func(*exchange.Exchange, *http.Request) {},
		Page: func(w *exchange.Exchange) { _, _ = io.WriteString(w, "page") }} // the client reads
	s.Rejected = func(reason string) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.rejected = append(s.rejected, reason)
	}
	return s
}

// limitMessages limits the memory for messages to the given number of bytes.
func (s *echoServer) limitMessages(bytes int64) { s.pool.Limit = (bytes + 2) / 3 * 4 }

// ServeHTTP implements http.Handler.
func (s *echoServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	e := exchange.New(w, r)
	e.Pool = &s.pool
	defer e.End()
	s.Serve(e, r, func() ([]byte, int64, bool) {
		if s.first == "" {
			return nil, 0, true
		}
		return []byte(s.first), int64(len(s.first)), e.Acquire(int64(len(s.first)))
	})
}

// serve serves connections until the end of the test.
func (s *echoServer) serve(t *testing.T, listener net.Listener) {
	t.Helper()
	server := &http.Server{Handler: transport.Handle(s), ConnContext: transport.WithConnection, ConnState: transport.TrackState}
	bounds := &transport.Bounds{Budget: transport.NewBudget(1 << 40), OpenConnections: &atomic.Int64{}, Log: echotest.Quiet(),
		Reporter: transport.NewReporter(echotest.Quiet(), func(string) {}), MaxHeaderBytes: transport.DefaultHeaderBytes}
	go func() { _ = server.Serve(transport.NewBoundedListener(listener, transport.Cost, bounds)) }()
	t.Cleanup(func() { _ = server.Close() })
}

// serveLocally serves real connections, and returns the server's address.
func (s *echoServer) serveLocally(t *testing.T) string {
	t.Helper()
	listener := echotest.ListenLocally(t)
	s.serve(t, listener)
	return listener.Addr().String()
}

// dialInMemory serves an in-memory connection.
func (s *echoServer) dialInMemory(t *testing.T) net.Conn {
	t.Helper()
	listener := echotest.NewMemoryListener()
	s.serve(t, listener)
	return listener.Dial(t)
}

// expectNothingHeld fails the test if a session is open or memory is reserved.
func (s *echoServer) expectNothingHeld(t *testing.T, name string) {
	t.Helper()
	if held := s.pool.Used.Load(); held != 0 || s.open.Load() != 0 || s.inFlight.Load() != 0 {
		t.Errorf("%s: %d bytes are held by %d sessions of %d requests", name, held, s.open.Load(), s.inFlight.Load())
	}
}

// TestSession_echoesMessages sends messages of sizes close to each limit.
func TestSession_echoesMessages(t *testing.T) {
	s := newEchoServer()
	client := openRaw(t, echotest.Dial(t, s.serveLocally(t)))
	for _, size := range []int{0, 5, firstChunk - 1, firstChunk, firstChunk + 1, 200_000, maxMessage} {
		sent := echotest.Payload(size)
		client.send(t, textFrame(sent), masked(finalBit|opcodeBinary, sent))
		if text, binary := client.next(t), client.next(t); text != "text "+sent || binary != "binary "+sent {
			t.Errorf("of %d bytes, %.20q and %.20q come back", size, text, binary)
		}
	}
	if s.open.Load() != 1 {
		t.Errorf("%d connections are counted", s.open.Load())
	}
}

// TestMessage_reservesOnlyReceivedBytes checks that a session reserves memory only for received data, not for the announced length, and
// none between messages.
func TestMessage_reservesOnlyReceivedBytes(t *testing.T) {
	const whole = maxMessage + maxChunk
	for name, c := range map[string]struct {
		sent     string
		peak     int64
		complete bool
	}{
		"a header": {announced(finalBit|opcodeBinary, maxMessage, ""), firstChunk, false},
		"half a message": {announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(maxMessage/2)), maxMessage/2 + maxChunk,
			false},
		"a small message":           {textFrame("hello"), firstChunk, true},
		"a large message":           {textFrame(echotest.Payload(maxMessage)), whole, true},
		"many small fragments":      {masked(opcodeText, "") + strings.Repeat(masked(opcodeContinuation, "x"), 5000), 3 * firstChunk, false},
		"one message after another": {strings.Repeat(textFrame(echotest.Payload(1000)), 3), firstChunk, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newEchoServer()
			s.limitMessages(c.peak)
			client := openRaw(t, s.dialInMemory(t))
			received := make(chan string, 10)
			go func() {
				for got := client.next(t); got != "end"; got = client.next(t) {
					received <- got
				}
				close(received)
			}()
			client.send(t, c.sent)
			synctest.Wait()
			if held := s.pool.Used.Load(); held > c.peak || (held == 0) != c.complete {
				t.Errorf("%s: %d bytes are held, want at most %d", name, held, c.peak)
			}
			_ = client.Close()
			for got := range received {
				if strings.HasPrefix(got, "close") {
					t.Errorf("%s: more than %d bytes were needed: %s", name, c.peak, got)
				}
			}
			synctest.Wait()
			s.expectNothingHeld(t, name)
		})
	}
}

// TestSession_handlesEachFrameKind sends frames that the session or its timers handle. The WebSocket library rejects others.
func TestSession_handlesEachFrameKind(t *testing.T) {
	end, last := closeFrame(1000), masked(finalBit|opcodeContinuation, "c")
	for name, c := range map[string]struct {
		sent string
		want []string
	}{
		"a ping within a message": {masked(opcodeText, "a") + pingFrame("1") + last + end,
			[]string{"pong 1", "text ac", "close 1000"}},
		"close within a message": {masked(opcodeText, "a") + end, []string{"close 1000"}},
		"a character in two fragments": {masked(opcodeText, "\xce") + masked(finalBit|opcodeContinuation, "\xba") + end,
			[]string{"text \u03ba", "close 1000"}},
		"half a character in a binary message": {masked(finalBit|opcodeBinary, "\xce") + textFrame("\xba"),
			[]string{"binary \xce", "close 1007 a text"}},
		"half a character at the end":  {textFrame("ok\xce"), []string{"close 1007 a text"}},
		"frames after text that fails": {textFrame("\xff") + pingFrame("late") + textFrame("late"), []string{"close 1007 a text"}},
		"fragments over the limit": {masked(opcodeBinary, echotest.Payload(maxMessage)) + masked(opcodeContinuation, "x"),
			[]string{"close 1009"}},
		"an empty fragment at the limit": {masked(opcodeBinary, echotest.Payload(maxMessage)) + masked(finalBit|opcodeContinuation, "") + end,
			[]string{"binary " + echotest.Payload(maxMessage), "close 1000"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := openRaw(t, newEchoServer().dialInMemory(t), c.sent).all(t)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) { // most reasons come from the library, so only their prefixes are compared
				t.Errorf("%s: got %.200q, want %.200q", name, got, c.want)
			}
		})
	}
}

// TestSession_deliversCloseFrameDespiteUnreadData checks that the close frame arrives even if the server has not read all data.
func TestSession_deliversCloseFrameDespiteUnreadData(t *testing.T) {
	address := newEchoServer().serveLocally(t)
	late := textFrame(echotest.Payload(512<<10)) + closeFrame(1000)
	for first, want := range map[string]string{closeFrame(1000): "close 1000", masked(opcodePing, ""): "close 1002"} {
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

// rawClient is a WebSocket client that can violate any rule of the protocol.
type rawClient struct {
	net.Conn
	reader *bufio.Reader
}

// openRaw opens a WebSocket and sends frames together with the handshake request.
func openRaw(t *testing.T, connection net.Conn, frames ...string) *rawClient {
	t.Helper()
	request := "GET / HTTP/1.1\r\n" + echotest.Handshake + "\r\n" + strings.Join(frames, "")
	go func() { _, _ = io.WriteString(connection, request) }() // the server may close the connection before it has read everything
	c := &rawClient{Conn: connection, reader: bufio.NewReader(connection)}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close() // the response has no body
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the response is %s", response.Status)
	}
	return c
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

func closeFrame(code uint16) string {
	return masked(finalBit|opcodeClose, string(binary.BigEndian.AppendUint16(nil, code)))
}

// TestCheckHandshake changes one header of a valid handshake at a time.
func TestCheckHandshake(t *testing.T) {
	const key, keyHeader, versionHeader = "dGhlIHNhbXBsZSBub25jZQ==", "Sec-Websocket-Key", "Sec-Websocket-Version"
	const protocolHeader = "Sec-Websocket-Protocol"
	for name, c := range map[string]struct {
		header string
		values []string
		status int    // 0 if the handshake is valid
		want   string // the subprotocol, or part of the reason
	}{
		"valid":                        {"X-A", nil, 0, ""},
		"no connection option":         {"Connection", []string{"keep-alive"}, 400, "Connection"},
		"no key":                       {keyHeader, nil, 400, "Sec-WebSocket-Key"},
		"two keys":                     {keyHeader, []string{key, key}, 400, "Sec-WebSocket-Key"},
		"a key with rests of bits":     {keyHeader, []string{"dGhlIHNhbXBsZSBub25jZR=="}, 400, "Sec-WebSocket-Key"},
		"another version":              {versionHeader, []string{"8"}, 426, "Sec-WebSocket-Version"},
		"a body of unknown length":     {"Transfer-Encoding", []string{"chunked"}, 400, "body"},
		"several sub-protocols":        {protocolHeader, []string{"a.B_2, b"}, 0, "a.B_2"},
		"several sub-protocol headers": {protocolHeader, []string{" ,", "b", "c"}, 0, "b"},
		"a sub-protocol that is none":  {protocolHeader, []string{"a b"}, 400, "Sec-WebSocket-Protocol"},
	} {
		headers := http.Header{"Host": {"a"}, "Connection": {"Upgrade"}, keyHeader: {key}, versionHeader: {"13"}, c.header: c.values}
		var text strings.Builder
		if err := headers.Write(&text); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\n" + text.String() + "\r\n")))
		if err != nil {
			t.Fatal(err)
		}
		subprotocol, status, err := checkHandshake(r)
		if isValid := c.status == 0; isValid && (err != nil || subprotocol != c.want) ||
			!isValid && (err == nil || status != c.status || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: the sub-protocol is %q, the status is %d, %v", name, subprotocol, status, err)
		}
	}
}

// TestServe sends handshakes, and requests that are none because of their HTTP version or the protocol that they request. The key and the
// response to it are from RFC 6455, 1.3.
func TestServe(t *testing.T) {
	address := newEchoServer().serveLocally(t)
	accepted := http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Accept": {"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}}
	chosen := accepted.Clone()
	chosen.Set("Sec-WebSocket-Protocol", "b")
	for name, c := range map[string]struct {
		method, proto, old, new string
		status                  int
		want                    http.Header // except headers that all responses have
		text                    string
	}{
		"a handshake":    {"GET", "1.1", "", "", 101, accepted, ""},
		"a sub-protocol": {"GET", "1.1", "Host", "Sec-WebSocket-Protocol: b, c\r\nHost", 101, chosen, ""},
		"an extension is not agreed on": {"GET", "1.1", "Host", "Sec-WebSocket-Extensions: permessage-deflate\r\nHost", 101, accepted,
			""},
		"another protocol, too": {"GET", "1.1", "Upgrade: websocket", "Upgrade: h2c, WebSocket", 101, accepted, ""},
		"another version": {"GET", "1.1", "Version: 13", "Version: 8", 426,
			http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Version": {"13"}}, "echo-server: the Sec-WebSocket-"},
		"HTTP/1.0":       {"GET", "1.0", "", "", 200, http.Header{}, "page"},
		"another method": {"POST", "1.1", "", "", 405, http.Header{"Allow": {"GET, HEAD"}}, "echo-server: a WebSocket requires GET"},
	} {
		connection := echotest.Dial(t, address)
		request := c.method + " / HTTP/" + c.proto + "\r\n" + strings.Replace(echotest.Handshake, c.old, c.new, 1) + "\r\n"
		if _, err := io.WriteString(connection, request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if response.StatusCode != http.StatusSwitchingProtocols {
			text = echotest.Reply{Response: response}.Whole(t).Text
		}
		_ = response.Body.Close()
		_ = connection.Close()
		for _, general := range []string{"Date", "Content-Type", "Content-Length"} {
			response.Header.Del(general)
		}
		if diff := cmp.Diff(c.want, response.Header); response.StatusCode != c.status || diff != "" || !strings.HasPrefix(text, c.text) {
			t.Errorf("%s: the response is %s, %q, (-want +got):\n%s", name, response.Status, text, diff)
		}
	}
}

// TestUpgrade_keepsEarlyFrames sends frames in the same packet as the handshake, before the WebSocket is open. The first message precedes
// their echoes, and holds memory only until it is sent.
func TestUpgrade_keepsEarlyFrames(t *testing.T) {
	s := newEchoServer()
	s.first = echotest.Payload(100_000)
	client := openRaw(t, echotest.Dial(t, s.serveLocally(t)), textFrame("early"), pingFrame("1"), textFrame(echotest.Payload(10_000)))
	for _, want := range []string{"text " + s.first, "text early", "pong 1", "text " + echotest.Payload(10_000)} {
		if got := client.next(t); got != want {
			t.Errorf("got %.100q, want %.100q", got, want)
		}
	}
	echotest.Until(t, "all memory is released", func() bool { return s.pool.Used.Load() == 0 })
}

// late is the server's close frame if a client takes too long to send a frame or message.
const late = "close 1008 the message was not received in time"

// TestSession_enforcesDeadlines exceeds the time limits in every state of a session. A client that ignores the close frame gets 5 s more.
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
		early string // sent together with the handshake
	}{
		"nothing":               {nil, 0, 620 * seconds, silent, ""},
		"pings keep it open":    {slices.Repeat([]string{pingFrame("")}, 3), 619 * seconds, (2*619 + 620) * seconds, silent, ""},
		"messages keep it open": {[]string{textFrame("x"), textFrame("x")}, 619 * seconds, (619 + 620) * seconds, silent, ""},
		"pongs keep it open": {slices.Repeat([]string{masked(finalBit|opcodePong, "")}, 2), 619 * seconds, (619 + 620) * seconds,
			silent, ""},
		"part of a frame at the end":    {[]string{pingFrame(""), "\x81"}, 619 * seconds, (619 + 30) * seconds, late, ""},
		"one byte, early":               {nil, 0, 30 * seconds, late, "\x81"},
		"part of a header":              {[]string{"\x81\xfe\x00"}, 0, 30 * seconds, late, ""},
		"part of a message":             {[]string{masked(opcodeText, "x")}, 0, 30 * seconds, late, ""},
		"a message that moves slowly":   {slow, 29 * seconds, 120 * seconds, late, ""},
		"pings do not extend a message": {begun, 20 * seconds, 120 * seconds, late, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newEchoServer()
			client := openRaw(t, s.dialInMemory(t), c.early)
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
			s.expectNothingHeld(t, name)
		})
	}
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
		sent     string
		memory   int64
		want     string
		rejected []string
	}{
		"over the limit": {announced(finalBit|opcodeBinary, 2*maxMessage, echotest.Payload(maxMessage+1)), 2 * maxMessage, "close 1009",
			[]string{LimitMessage}},
		"not UTF-8": {announced(finalBit|opcodeText, maxMessage, strings.Repeat("\xff", firstChunk)), maxMessage, "close 1007", nil},
		"without memory": {announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(firstChunk)), firstChunk,
			"close 1013 the server has used up its memory budget; try again later", []string{transport.LimitMemory}},
		"not masked":     {"\x81\x7e\xff\xffx", maxMessage, "close 1002", nil},
		"a reserved bit": {masked(opcodeText, "x") + announced(finalBit|0x40|opcodeContinuation, 1000, "x"), maxMessage, "close 1002", nil},
		"a close frame":  {closeFrame(1000), maxMessage, "close 1000", nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newEchoServer()
			s.limitMessages(c.memory)
			listener := echotest.NewMemoryListener()
			s.serve(t, listener)
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
			s.expectNothingHeld(t, name)
			if !slices.Equal(s.rejected, c.rejected) {
				t.Errorf("%s: counted are %q", name, s.rejected)
			}
		})
	}
}

// TestSession_dropsIncompleteMessage closes the sending side of the connection in the middle of a message, which must not be echoed.
func TestSession_dropsIncompleteMessage(t *testing.T) {
	address := newEchoServer().serveLocally(t)
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
			s := newEchoServer()
			client := openRaw(t, s.dialInMemory(t))
			client.send(t, textFrame("hello"))
			synctest.Wait()
			if c.stop {
				close(s.ending)
			}
			<-time.After(c.takes - 1)
			if s.open.Load() != 1 {
				t.Errorf("%s: the server does not wait until the client reads", name)
			}
			<-time.After(1)
			synctest.Wait()
			s.expectNothingHeld(t, name)
		})
	}
}

// TestSession_endsWithServer stops the server before and in several states of a session. A session that the client closes ends at once.
func TestSession_endsWithServer(t *testing.T) {
	for name, sent := range map[string]string{
		"idle":             "",
		"not yet open":     "",
		"within a header":  "\x81\xfe",
		"within a frame":   announced(finalBit|opcodeText, 3, "x"),
		"within a message": masked(opcodeText, "x"),
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newEchoServer()
			if name == "not yet open" {
				close(s.ending)
			}
			client := openRaw(t, s.dialInMemory(t))
			client.send(t, sent)
			synctest.Wait()
			began := time.Now()
			if name != "not yet open" {
				close(s.ending)
			}
			if got := client.next(t); got != "close 1001 the server is stopping" {
				t.Errorf("%s: the reported end is %q", name, got)
			}
			whole := map[string]string{"within a header": "\x00\x80\x00\x00\x00\x00" + echotest.Payload(128), "within a frame": "yz"}
			client.send(t, whole[name], textFrame("late"), closeFrame(1001))
			if got := client.next(t); got != "end" || time.Since(began) != 0 {
				t.Errorf("%s: after %s comes %q", name, time.Since(began), got)
			}
		})
	}
}

// TestUTF8Reader splits each text into three parts, at all possible positions.
func TestUTF8Reader(t *testing.T) {
	// valid strings with characters of each encoded length, and then invalid strings
	for _, text := range []string{"", "a", "\u00b5@\u00df", "\u03ba\u1f79", "\ud7ff\ue000\ufffd", "\U0001f600\U0010ffff",
		"\x80", "\xc0\xaf", "\xc2A", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82A", "\xe2\x82\xc2\xa2", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80\x80", "\xff", "\xce", "ok\xe1\xbd", "\xf0\x9f\x98"} {
		for first := range len(text) + 1 {
			for second := range len(text) - first + 1 {
				second += first
				var reader utf8Reader
				got := reader.add([]byte(text[:first])) && reader.add([]byte(text[first:second])) && reader.add([]byte(text[second:])) &&
					reader.size == 0
				if got != utf8.ValidString(text) {
					t.Errorf("%q cut at %d and %d: it is UTF-8: %t", text, first, second, got)
				}
			}
		}
	}
}
