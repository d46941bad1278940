package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

const (
	// containerMemory is the default memory limit, in MiB, of an Echo's pods.
	containerMemory = 64
	// floodTime is how long each flood lasts.
	floodTime = 3 * time.Second
)

// TestRun_survivesFloods floods the real program with requests that could exhaust its memory. The program must stay below the memory limit,
// and continue to serve other clients and probes.
func TestRun_survivesFloods(t *testing.T) {
	if os.Getenv("FLOODS") != "all" {
		t.Skip("make flood")
	}
	for name, f := range floods() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.run(t, false)
		})
	}
	for _, limit := range []int{transport.DefaultHeaderBytes, transport.MostHeaderBytes} {
		for name, f := range headerFloods(limit) {
			t.Run(fmt.Sprintf("%s, %d", name, limit), func(t *testing.T) {
				t.Parallel()
				f.run(t, false, "ECHO_MAX_HEADER_BYTES="+strconv.Itoa(limit))
			})
		}
	}
	all := floods()
	maps.Copy(all, headerFloods(transport.DefaultHeaderBytes))
	for _, name := range []string{"delayed long headers", "distinct tiny fields", "long trailers over HTTP/2", "resets of authorities"} {
		t.Run(name+", blocked log", func(t *testing.T) {
			t.Parallel()
			all[name].run(t, true)
		})
	}
}

// clientFlood specifies what each of many concurrent connections does.
type clientFlood struct {
	connections int
	open        func(net.Conn) error
}

// run floods the real program, which has the soft memory limit of a pod. If nothing reads the log, requests wait until their log lines are
// written. Their memory counts toward the budget, so other clients are not served.
func (f clientFlood) run(t *testing.T, hasBlockedLog bool, environ ...string) {
	t.Helper()
	p := start(t, append(environ, "GOMEMLIMIT="+strconv.Itoa(containerMemory<<20/4*3), "ECHO_DRAIN_DELAY=0s")...)
	others := func() int64 { return 0 }
	if hasBlockedLog {
		p.log.Mutex.Lock()
		defer p.log.Mutex.Unlock()
	} else {
		others = ordinaryClients(t, p)
	}
	peak := flood(t, p, f.connections, f.open)
	t.Logf("the peak is %d MiB of memory; meanwhile, %d requests and probes of other clients were served", peak, others())
	if peak >= containerMemory {
		t.Errorf("the kernel would have killed the program because of its memory limit: %d MiB", peak)
	}
}

// floods returns all floods except those with large headers.
func floods() map[string]clientFlood {
	return map[string]clientFlood{
		"slow bodies over HTTP/2":       {200, overHTTP2("POST", "/", withBody)},
		"delayed responses over HTTP/2": {200, overHTTP2("GET", "/?echo.delay=30s", complete)},
		"event streams over HTTP/2":     {200, overHTTP2("GET", "/-/sse", complete)},
		"windows of zero over HTTP/2":   {200, overHTTP2("GET", "/?echo.size=1000000", withoutWindow)},
		"echoes that no one reads":      {200, overHTTP2("GET", "/"+strings.Repeat("x", 8000), withoutWindow)},
		"echoes that list bytes":        {200, overHTTP2("GET", "/?"+strings.Repeat("%ff&", 199), withoutWindow)},
		"stalled streams over HTTP/2":   {200, overHTTP2("POST", "/-/body", withBody)},
		"long frames over HTTP/2":       {200, longFrame},
		"incomplete bodies":             {2000, writes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n" + echotest.Payload(65535))},
		"large bodies": {1000,
			writes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n" + echotest.Payload(4_000_000))},
		"large bodies with a nonce": {1000,
			writes("POST / HTTP/1.1\r\nHost: a\r\n" + asking + "Content-Length: 8000000\r\n\r\n" + echotest.Payload(4<<20))},
		"records over HTTP/2": {200, overHTTP2("GET", "/-/arrivals?nonce=0123456789abcdef", withoutWindow, "echo-check", "0123456789abcdef")},
		"proofs of many fields over HTTP/2": {200, overHTTP2("GET", "/?"+strings.Join(distinctHeaders(), "&"), withoutWindow,
			"echo-check", "0123456789abcdef")},
		"many nonces":                   {200, writes(manyNonces())},
		"incomplete WebSocket messages": {1000, writes(incompleteMessage())},
		"unread WebSocket pongs":        {500, writes(manyPings())},
		"responses that no one reads":   {1000, writes(strings.Repeat("GET /?echo.size=16000000 HTTP/1.1\r\nHost: a\r\n\r\n", 20))},
		"idle connections":              {4500, writes("")},
		"idle connections after use":    {4500, writes("GET /?echo.size=0 HTTP/1.1\r\nHost: a\r\n\r\n")},
		"headers after empty lines":     {500, afterEmptyLines(0, 4, 120<<10)},
		"fields after a request": {2000, writes("GET /?echo.size=0 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n" +
			strings.Join(fields(490, "", ":\r\n"), ""))},
		"rejected requests":              {2000, writes("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n")},
		"rejected streams":               {200, resets(echotest.FieldBlock("X-A", "1"))},
		"rejected WebSockets":            {200, resets(echotest.FieldBlock(":method", "CONNECT", ":protocol", "websocket"))},
		"unfinished gRPC messages":       {30, grpcStreams("Unary", 31, unfinished(1<<20))},
		"unfinished gRPC streams":        {30, grpcStreams("ClientStream", 31, unfinished(1<<20))},
		"small unfinished gRPC messages": {200, grpcStreams("Unary", 31, unfinished(16<<10))},
		"announced gRPC messages": {200,
			overHTTP2Body("POST", "/echo.v1.Echo/Unary", withBody, unfinished(1 << 20)[:16], grpcFields()...)},
		"unread gRPC responses": {200, overHTTP2Body("POST", "/echo.v1.Echo/ServerStream", withoutWindow,
			echotest.GRPCMessage("\x12"+varint(16<<10)+echotest.Payload(16<<10)+"\x18\xe8\x07"), grpcFields()...)},
		"unread gRPC reflection": {200, overHTTP2Body("POST", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", withoutWindow,
			bytes.Repeat(echotest.GRPCMessage("\x22\x0cecho.v1.Echo"), 500), grpcFields()...)},
	}
}

// headerFloods returns floods with headers close to the limit and to the maximum that net/http decodes before the handler can reject them.
func headerFloods(limit int) map[string]clientFlood {
	allowed, decoded := limit*95/100, transport.DecoderFactor*limit*95/100
	cookie := func(length int) []string { return []string{"cookie", strings.Repeat("x", length)} }
	return map[string]clientFlood{
		"echoes that need escapes":       {200, overHTTP2("GET", "/", withoutWindow, "x-a", strings.Repeat("\xff", allowed))},
		"short echoes that need escapes": {200, overHTTP2("GET", "/", withoutWindow, "x-a", strings.Repeat("\xff", 3800))},
		"echoes that list many bytes": {200, overHTTP2("GET", "/?"+strings.Repeat("%ff&", 199), withoutWindow,
			fields(90, "x-", strings.Repeat("\xff", (allowed-10_000)/90-10))...)},
		"texts that list many bytes": {200, overHTTP2("GET", "/?echo.format=text&"+strings.Repeat("%ff&", 199), withoutWindow,
			fields(90, "x-", strings.Repeat("\xff", (allowed-10_000)/90-10))...)},
		"pages that need escapes": {200, overHTTP2("GET", "/?echo.format=html", withoutWindow, "x-forwarded-for",
			strings.Repeat("<<<<<<<<<<<<<,", 90),
			"x-a", strings.Repeat("<", allowed-1500))},
		"long headers over HTTP/2":     {200, overHTTP2("GET", "/", withoutWindow, cookie(allowed)...)},
		"delayed long headers":         {200, overHTTP2("GET", "/?echo.delay=30s", complete, cookie(allowed)...)},
		"rejected headers over HTTP/2": {200, overHTTP2("GET", "/", withoutWindow, cookie(decoded)...)},
		"rejected fields over HTTP/2":  {200, overHTTP2("GET", "/", withoutWindow, fields(400, "x-", strings.Repeat("x", max(0, decoded/400-40)))...)},
		"rejected paths over HTTP/2":   {200, overHTTP2("GET", "/"+echotest.Payload(decoded), withoutWindow)},
		"distinct tiny fields":         {200, overHTTP2("GET", "/", withoutWindow, fields(460, "", "")...)},
		"resets of tiny fields":        {200, resets(echotest.HeaderBlock("GET", "/", fields(460, "", "")...))},
		"resets of authorities":        {45, resets(echotest.HeaderBlockTo(strings.Repeat("a", decoded), "GET", "/"))},
		"resets of paths":              {45, resets(echotest.HeaderBlock("GET", "/"+strings.Repeat("a", decoded)))},
		"resets of allowed headers":    {60, resets(echotest.HeaderBlockTo(strings.Repeat("a", allowed), "GET", "/"))},
		"trailer and cookie": {200,
			overHTTP2("GET", "/", withoutWindow, append(cookie(decoded), "trailer", strings.Repeat("x", decoded))...)},
		"long trailers over HTTP/2": {200, withTrailer(decoded)},
		"gRPC calls with long headers": {200, overHTTP2Body("POST", "/echo.v1.Echo/Unary", withoutWindow, echotest.GRPCMessage(""),
			append(grpcFields(), cookie(allowed)...)...)},
		"gRPC streams with long headers": {200, overHTTP2Body("POST", "/echo.v1.Echo/BidiStream", withBody, echotest.GRPCMessage(""),
			append(grpcFields(), cookie(allowed)...)...)},
		"gRPC errors about long headers": {200, overHTTP2Body("POST", "/echo.v1.Echo/Unary", withoutWindow, echotest.GRPCMessage(""),
			append(grpcFields(), "grpc-timeout", strings.Repeat("\xff", allowed))...)},
		"incomplete headers over HTTP/2": {1000, incompleteHTTP2Header(fields(decoded/1000, "x-", strings.Repeat("x", 960))...)},
		"incomplete field over HTTP/2":   {1000, incompleteHTTP2Header(cookie(decoded)...)},
		"incomplete headers":             {2000, writes("GET / HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", allowed))},
		"escapes over HTTP/1.1": {2000,
			writes("GET /?echo.delay=1s HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("\xff", allowed) + "\r\n\r\n")},
		"unread echoes of handshakes": {1000, writes("GET /-/ws?echo.handshake=true HTTP/1.1\r\n" + echotest.Handshake + "X-A: " +
			strings.Repeat("\xff", allowed-1000) + "\r\n\r\n")},
		"many fields": {2000,
			writes("GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A:\r\n", 95) + "X-A: " + strings.Repeat("x", allowed-1000))},
		"idle after long headers": {2000, writes("GET /?echo.size=0 HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", allowed) + "\r\n\r\n")},
	}
}

// flood opens connections, keeps them open for floodTime, and returns the program's peak resident memory.
func flood(t *testing.T, p *serverProcess, connections int, open func(net.Conn) error) (peak int) {
	t.Helper()
	var all sync.WaitGroup
	ended := make(chan struct{})
	address := strings.TrimPrefix(p.url, "http://")
	for range connections {
		all.Go(func() {
			connection, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer func() { _ = connection.Close() }()
			_ = connection.SetDeadline(time.Now().Add(floodTime))
			_ = open(connection) // the server may close the connection
			<-ended
		})
	}
	<-time.After(floodTime)
	close(ended)
	all.Wait()
	select {
	case <-p.ended:
		t.Fatalf("it has ended: %v; its log: %s", p.endedStatus, p.log)
	default:
	}
	return memoryKiB(t, p.command.Process.Pid, "VmHWM") >> 10
}

// ordinaryClients sends requests and probes until the returned function is called. That function returns the number of served requests. The
// test fails if a request or a probe fails.
func ordinaryClients(t *testing.T, p *serverProcess) (stop func() int64) {
	t.Helper()
	var all sync.WaitGroup
	var served atomic.Int64
	ctx, end := context.WithTimeout(t.Context(), echotest.Patience)
	ask := func(url string, client *http.Client) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
			if !isServed(ctx, t, client, url) {
				return
			}
			served.Add(1)
		}
	}
	for _, client := range echotest.Clients(t) { // each client has its own connection, which it opens before the flood
		isServed(ctx, t, client, p.url)
		all.Go(func() { ask(p.url, client) })
	}
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: echotest.Patience}
	all.Go(func() { ask(p.admin+"/readyz", probe) })
	return func() int64 {
		end()
		all.Wait()
		return served.Load()
	}
}

// isServed sends a request, and reports whether the server responds. During the flood, at whose end ctx is done, it sends the request again
// if the server closes the connection before it receives the request. The server closes connections that exceed its limits, and does not
// wait long for a client that a busy machine delays.
func isServed(ctx context.Context, t *testing.T, client *http.Client, url string) bool {
	t.Helper()
	for {
		isOver := ctx.Err() != nil
		response, err := client.Get(url)
		if isClosedEarly(err) && !isOver {
			<-time.After(20 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", url, err)
			return false
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", url, response.Status)
		}
		return response.StatusCode == http.StatusOK
	}
}

// isClosedEarly reports whether an error of a client means that the server closed the connection before it received the request.
func isClosedEarly(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		err != nil && strings.HasSuffix(err.Error(), "server closed idle connection") // net/http does not export this error
}

// writes returns a function that writes a string and reads nothing.
func writes(text string) func(net.Conn) error {
	return func(connection net.Conn) error { return writePolitely(connection, text) }
}

// writePolitely writes in small pieces, and yields to other goroutines after each, so that the test's requests and probes are in time.
func writePolitely(w io.Writer, text string) error {
	const piece = 64 << 10
	for rest := text; rest != ""; runtime.Gosched() {
		now := min(piece, len(rest))
		if _, err := io.WriteString(w, rest[:now]); err != nil {
			return err
		}
		rest = rest[now:]
	}
	return nil
}

// incompleteMessage returns a WebSocket message without its last byte. The mask of its frame is zero, so the data stays as it is.
func incompleteMessage() string {
	const size = 1 << 20 // the longest message
	header := append(binary.BigEndian.AppendUint64([]byte{0x82, 0x80 | 127}, size), 0, 0, 0, 0)
	return "GET /-/ws HTTP/1.1\r\n" + echotest.Handshake + "\r\n" + string(header) + echotest.Payload(size-1)
}

// asking is a header line that asks for a proof.
const asking = "Echo-Check: 0123456789abcdef\r\n"

// manyNonces returns requests with more nonces than the server remembers.
func manyNonces() string {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "GET /?echo.size=0 HTTP/1.1\r\nHost: a\r\nEcho-Check: %064x\r\n\r\n", i)
	}
	return text.String()
}

// distinctHeaders returns controls that set as many headers as a request can set.
func distinctHeaders() (controls []string) {
	for i := range 32 {
		controls = append(controls, fmt.Sprintf("echo.set-header=X-My-%0140d:1", i))
	}
	return controls
}

// manyPings returns a WebSocket handshake and many pings of the maximum size.
func manyPings() string {
	const size = 125
	return "GET /-/ws HTTP/1.1\r\n" + echotest.Handshake + "\r\n" +
		strings.Repeat("\x89"+string([]byte{0x80 | size, 0, 0, 0, 0})+echotest.Payload(size), 1000)
}

// streamKind specifies what an HTTP/2 request sends after its header.
type streamKind int

const (
	complete streamKind = iota
	withBody            // the last byte of the body is never sent
	withoutWindow
)

// overHTTP2 returns a function that starts HTTP/2 requests on a connection.
func overHTTP2(method, path string, kind streamKind, fields ...string) func(net.Conn) error {
	var body []byte
	if kind == withBody {
		body = []byte(echotest.Payload(600)) // the bodies of all requests fit into the connection's flow-control window
	}
	return overHTTP2Body(method, path, kind, body, fields...)
}

// overHTTP2Body is like overHTTP2, but for requests with a body.
func overHTTP2Body(method, path string, kind streamKind, body []byte, fields ...string) func(net.Conn) error {
	return framing(kind, func(framer *http2.Framer) error {
		for id := uint32(1); id < 2*maxStreams; id += 2 {
			err := echotest.WriteHeader(framer, id, echotest.HeaderBlock(method, path, fields...), body == nil, true)
			for rest := body; err == nil && len(rest) > 0; {
				piece := rest[:min(len(rest), maxFrame)]
				rest = rest[len(piece):]
				err = framer.WriteData(id, kind != withBody && len(rest) == 0, piece)
			}
			if err != nil {
				return err
			}
			runtime.Gosched()
		}
		return nil
	})
}

// noWindow returns the setting of a client that does not receive the bodies of responses.
func noWindow() http2.Setting { return http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0} }

// framing returns a function that starts an HTTP/2 connection, discards all data that it receives, and sends frames.
func framing(kind streamKind, write func(*http2.Framer) error) func(net.Conn) error {
	return func(connection net.Conn) error {
		var settings []http2.Setting
		if kind == withoutWindow {
			settings = append(settings, noWindow())
		}
		framer, err := echotest.Greet(connection, settings...)
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, connection) }() // runs until the connection is closed
		return write(framer)
	}
}

// incompleteHTTP2Header returns a function that sends a header without the last byte of its last field, and never completes it.
func incompleteHTTP2Header(fields ...string) func(net.Conn) error {
	return framing(complete, func(framer *http2.Framer) error {
		block := echotest.HeaderBlock("GET", "/", fields...)
		return echotest.WriteHeader(framer, 1, block[:len(block)-1], true, false)
	})
}

// fields returns the given number of fields with one value. Their names are the prefix and three unique bytes, of which the first is a letter
// that net/http capitalizes in a copy. Without a prefix and a value, a map of these fields is much larger than the sent data. HPACK adds 32
// bytes to each field's size.
func fields(number int, prefix, value string) (list []string) {
	const first = 10 * 36 * 36 // a00
	for i := range number {
		list = append(list, prefix+strconv.FormatInt(int64(first+i), 36), value)
	}
	return list
}

// resets returns a function that starts requests and resets them as fast as the server reads. net/http queues new requests until the
// handlers of reset requests have returned.
func resets(block []byte) func(net.Conn) error {
	return framing(complete, func(framer *http2.Framer) error {
		for id := uint32(1); ; id += 2 {
			if err := errors.Join(echotest.WriteHeader(framer, id, block, true, true), framer.WriteRSTStream(id, http2.ErrCodeCancel)); err != nil {
				return err
			}
		}
	})
}

// withTrailer returns a function that sends requests with a trailer of the given size. The responses are delayed.
func withTrailer(size int) func(net.Conn) error {
	return framing(complete, func(framer *http2.Framer) error {
		var trailer bytes.Buffer
		_ = hpack.NewEncoder(&trailer).WriteField(hpack.HeaderField{Name: "x-a", Value: echotest.Payload(size), Sensitive: true})
		for id := uint32(1); id < 2*maxStreams; id += 2 {
			err := echotest.WriteHeader(framer, id, echotest.HeaderBlock("POST", "/?echo.delay=30s", "trailer", "x-a"), false, true)
			if err := errors.Join(err, framer.WriteData(id, false, []byte("body")),
				echotest.WriteHeader(framer, id, trailer.Bytes(), true, true)); err != nil {
				return err
			}
			runtime.Gosched()
		}
		return nil
	})
}

// longFrame announces a frame of the maximum length, but sends only part of the frame.
func longFrame(connection net.Conn) error {
	if _, err := echotest.Greet(connection); err != nil {
		return err
	}
	if _, err := io.WriteString(connection, "\xff\xff\xff\x01\x05\x00\x00\x00\x01"); err != nil {
		return err
	}
	return writes(echotest.Payload(1 << 20))(connection)
}

func grpcFields() []string { return []string{"content-type", "application/grpc", "te", "trailers"} }

// unfinished returns an EchoRequest of about the given size, without its last byte.
func unfinished(size int) []byte {
	message := echotest.GRPCMessage("\x12" + varint(size-8) + echotest.Payload(size-8))
	return message[:len(message)-1]
}

func varint(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// grpcStreams returns a function that starts gRPC calls. Each sends one message as fast as the server accepts it, and then stays open.
func grpcStreams(method string, streams int, message []byte) func(net.Conn) error {
	return func(connection net.Conn) error {
		client := &http.Transport{Protocols: echotest.OnlyHTTP2(), MaxConnsPerHost: 1,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return connection, nil }}
		for range streams {
			body, more := io.Pipe() // never closed
			r, err := http.NewRequest(http.MethodPost, "http://a/echo.v1.Echo/"+method, body)
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/grpc")
			go func() { _ = writePolitely(more, string(message)) }() // the server may end the call
			go func() {
				if response, err := client.RoundTrip(r); err == nil {
					_ = response.Body.Close()
				}
			}()
		}
		return nil
	}
}

// afterEmptyLines returns a function that sends a request with some line breaks after it, and then, after the response, more line breaks and
// a header that does not end. net/http skips the line breaks, and keeps the first ones in its buffer until the header arrives.
func afterEmptyLines(first, second, size int) func(net.Conn) error {
	return func(conn net.Conn) error {
		request := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" + strings.Repeat("\n", first)
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		if _, err := conn.Read(make([]byte, 4096)); err != nil {
			return err
		}
		header := strings.Repeat("\n", second) + "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("x: "+strings.Repeat("v", 280)+"\n", size/284)
		_, err := io.WriteString(conn, header)
		return err
	}
}
