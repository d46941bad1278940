package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// containerMemory is the default memory limit of the pods of an Echo, in MiB.
	containerMemory = 64
	// floodTime is how long a flood lasts.
	floodTime = 3 * time.Second
)

// TestFloods sends to the real program what could exhaust its memory: it must stay below the memory limit, and serve another client and
// probes all the time.
func TestFloods(t *testing.T) {
	if testing.Short() {
		t.Skip("each flood takes some seconds")
	}
	for name, f := range floods() {
		t.Run(name, func(t *testing.T) { f.run(t) })
	}
	for _, limit := range []int{defaultHeaderBytes, mostHeaderBytes} {
		for name, f := range headerFloods(limit) {
			t.Run(fmt.Sprintf("%s, %d", name, limit), func(t *testing.T) { f.run(t, "ECHO_MAX_HEADER_BYTES="+strconv.Itoa(limit)) })
		}
	}
}

// clientFlood is what many connections do.
type clientFlood struct {
	connections int
	open        func(net.Conn) error
}

func (f clientFlood) run(t *testing.T, environ ...string) {
	t.Helper()
	p := start(t, append(environ, "GOMEMLIMIT="+strconv.Itoa(containerMemory<<20/4*3), "ECHO_DRAIN_DELAY=0s")...)
	others := ordinaryClients(t, p)
	peak := flood(t, p, f.connections, f.open)
	served := others()
	t.Logf("at its peak it took %d MiB of memory; meanwhile %d requests and probes of others were served", peak, served)
	if peak >= containerMemory {
		t.Errorf("its memory limit would have killed it: %d MiB", peak)
	}
}

// floods returns all floods but those whose header is large.
func floods() map[string]clientFlood {
	return map[string]clientFlood{
		"slow bodies over HTTP/2":        {200, overHTTP2("POST", "/", withBody)},
		"delayed responses over HTTP/2":  {200, overHTTP2("GET", "/?echo.delay=30s", complete)},
		"event streams over HTTP/2":      {200, overHTTP2("GET", "/-/sse", complete)},
		"windows of zero over HTTP/2":    {200, overHTTP2("GET", "/?echo.size=1000000", withoutWindow)},
		"echoes that nobody reads":       {200, overHTTP2("GET", "/"+strings.Repeat("x", 8000), withoutWindow)},
		"stalled streams over HTTP/2":    {200, overHTTP2("POST", "/-/body", withBody)},
		"long frames over HTTP/2":        {200, longFrame},
		"incomplete bodies":              {2000, writes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n" + payload(65535))},
		"large bodies":                   {1000, writes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n" + payload(4_000_000))},
		"incomplete WebSocket messages":  {1000, writes(incompleteMessage())},
		"responses that nobody reads":    {1000, writes(strings.Repeat("GET /?echo.size=16000000 HTTP/1.1\r\nHost: a\r\n\r\n", 20))},
		"idle connections":               {4500, writes("")},
		"idle connections after use":     {4500, writes("GET /?echo.size=0 HTTP/1.1\r\nHost: a\r\n\r\n")},
		"unfinished gRPC messages":       {30, grpcStreams("Unary", 31, unfinished(1<<20))},
		"unfinished gRPC streams":        {30, grpcStreams("ClientStream", 31, unfinished(1<<20))},
		"small unfinished gRPC messages": {200, grpcStreams("Unary", 31, unfinished(16<<10))},
		"announced gRPC messages":        {200, overHTTP2Body("POST", "/echo.v1.Echo/Unary", withBody, unfinished(1 << 20)[:16], grpcFields()...)},
		"gRPC responses that nobody reads": {200, overHTTP2Body("POST", "/echo.v1.Echo/ServerStream", withoutWindow,
			delimited("\x12"+varint(16<<10)+payload(16<<10)+"\x18\xe8\x07"), grpcFields()...)},
		"gRPC reflection that nobody reads": {200, overHTTP2Body("POST", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", withoutWindow,
			bytes.Repeat(delimited("\x22\x0cecho.v1.Echo"), 500), grpcFields()...)},
	}
}

// headerFloods returns floods of headers near the limit, and near what net/http decodes before the handler rejects it.
func headerFloods(limit int) map[string]clientFlood {
	allowed, decoded := limit*95/100, decoderFactor*limit*95/100
	cookie := func(length int) []string { return []string{"cookie", strings.Repeat("x", length)} }
	return map[string]clientFlood{
		"echoes that need escapes":       {200, overHTTP2("GET", "/", withoutWindow, "x-a", strings.Repeat("\xff", allowed))},
		"short echoes that need escapes": {200, overHTTP2("GET", "/", withoutWindow, "x-a", strings.Repeat("\xff", 3800))},
		"pages that need escapes": {200, overHTTP2("GET", "/?echo.format=html", withoutWindow, "forwarded", strings.Repeat(`for="<<<<<<<<",`, 90),
			"x-a", strings.Repeat("<", allowed-1500))},
		"long headers over HTTP/2":       {200, overHTTP2("GET", "/", withoutWindow, cookie(allowed)...)},
		"delayed long headers":           {200, overHTTP2("GET", "/?echo.delay=30s", complete, cookie(allowed)...)},
		"rejected headers over HTTP/2":   {200, overHTTP2("GET", "/", withoutWindow, cookie(decoded)...)},
		"rejected fields over HTTP/2":    {200, overHTTP2("GET", "/", withoutWindow, manyFields(400, decoded)...)},
		"rejected paths over HTTP/2":     {200, overHTTP2("GET", "/"+payload(decoded), withoutWindow)},
		"long trailers over HTTP/2":      {200, withTrailer(decoded)},
		"incomplete headers over HTTP/2": {1000, incompleteHTTP2Header(manyFields(decoded/1000, decoded)...)},
		"incomplete field over HTTP/2":   {1000, incompleteHTTP2Header(cookie(decoded)...)},
		"incomplete headers":             {2000, writes("GET / HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", allowed))},
		"escapes over HTTP/1.1":          {2000, writes("GET /?echo.delay=1s HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("\xff", allowed) + "\r\n\r\n")},
		"many fields":                    {2000, writes("GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A:\r\n", 95) + "X-A: " + strings.Repeat("x", allowed-1000))},
		"idle after long headers":        {2000, writes("GET /?echo.size=0 HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", allowed) + "\r\n\r\n")},
	}
}

// flood opens connections for some time, and returns the most resident memory that the program has had.
func flood(t *testing.T, p *process, connections int, open func(net.Conn) error) (peak int) {
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
			_ = open(connection) // the server may close it
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
	return peakMiB(t, p.command.Process.Pid)
}

// ordinaryClients sends requests and probes until the returned function is called, which returns how many were served. None may fail.
func ordinaryClients(t *testing.T, p *process) (stop func() int64) {
	t.Helper()
	var all sync.WaitGroup
	var served atomic.Int64
	ended := make(chan struct{})
	ask := func(url string, client *http.Client) {
		for {
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
			response, err := client.Get(url)
			if err != nil {
				t.Errorf("%s: %v", url, err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", url, response.Status)
				return
			}
			served.Add(1)
		}
	}
	for _, client := range clients(t) { // with connections of their own, which are open before the flood
		_ = send(t, client, http.MethodGet, p.url, "")
		all.Go(func() { ask(p.url, client) })
	}
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	all.Go(func() { ask(p.admin+"/readyz", probe) })
	return func() int64 {
		close(ended)
		all.Wait()
		return served.Load()
	}
}

// writes returns a function that writes a text and reads nothing. It writes a little at a time and then lets others run: a thousand that write
// megabytes at once would take the processors for so long that the requests and probes of this test do not even leave.
func writes(text string) func(net.Conn) error {
	const piece = 64 << 10
	return func(connection net.Conn) error {
		for rest := text; rest != ""; runtime.Gosched() {
			now := min(piece, len(rest))
			if _, err := io.WriteString(connection, rest[:now]); err != nil {
				return err
			}
			rest = rest[now:]
		}
		return nil
	}
}

// incompleteMessage returns a WebSocket message of which the last byte never comes.
func incompleteMessage() string {
	return "GET /-/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x82\xff\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00" + payload(1<<20-1)
}

// How a request of HTTP/2 goes on after its header.
type streamKind int

const (
	complete streamKind = iota
	withBody            // of which the last byte never comes
	withoutWindow
)

// overHTTP2 returns a function that begins requests of HTTP/2 on a connection.
func overHTTP2(method, path string, kind streamKind, fields ...string) func(net.Conn) error {
	var body []byte
	if kind == withBody {
		body = []byte(payload(600)) // all fit into the window of a connection
	}
	return overHTTP2Body(method, path, kind, body, fields...)
}

// overHTTP2Body is overHTTP2 for requests with a body.
func overHTTP2Body(method, path string, kind streamKind, body []byte, fields ...string) func(net.Conn) error {
	return func(connection net.Conn) error {
		framer, err := greet(connection, kind)
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, connection) }() // until the connection is closed
		for id := uint32(1); id < 2*maxStreams; id += 2 {
			err := writeHeader(framer, id, headerBlock(method, path, fields...), body == nil, true)
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
	}
}

// greet begins a connection of HTTP/2.
func greet(connection net.Conn, kind streamKind) (*http2.Framer, error) {
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		return nil, err
	}
	framer := http2.NewFramer(connection, connection)
	var settings []http2.Setting
	if kind == withoutWindow {
		settings = append(settings, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	}
	return framer, framer.WriteSettings(settings...)
}

func headerBlock(method, path string, fields ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", method}, {":path", path}, {":scheme", "http"}, {":authority", "a"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true}) // a buffer never fails
	}
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true})
	}
	return block.Bytes()
}

// writeHeader writes a header in frames of the size that every server accepts.
func writeHeader(framer *http2.Framer, stream uint32, block []byte, endStream, endHeaders bool) error {
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

// incompleteHTTP2Header returns a function that begins a header and never ends it. The last byte of the last field is missing.
func incompleteHTTP2Header(fields ...string) func(net.Conn) error {
	return func(connection net.Conn) error {
		framer, err := greet(connection, complete)
		if err != nil {
			return err
		}
		block := headerBlock("GET", "/", fields...)
		return writeHeader(framer, 1, block[:len(block)-1], true, false)
	}
}

// manyFields returns a number of fields that are together of a size.
func manyFields(number, size int) (fields []string) {
	for i := range number {
		fields = append(fields, fmt.Sprint("x-", i), strings.Repeat("x", max(0, size/number-40))) // HPACK adds 32 to each
	}
	return fields
}

// withTrailer returns a function that sends requests with a trailer of a size, whose responses are delayed.
func withTrailer(size int) func(net.Conn) error {
	return func(connection net.Conn) error {
		framer, err := greet(connection, complete)
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, connection) }() // until the connection is closed
		var trailer bytes.Buffer
		_ = hpack.NewEncoder(&trailer).WriteField(hpack.HeaderField{Name: "x-a", Value: payload(size), Sensitive: true})
		for id := uint32(1); id < 2*maxStreams; id += 2 {
			err := writeHeader(framer, id, headerBlock("POST", "/?echo.delay=30s", "trailer", "x-a"), false, true)
			if err := errors.Join(err, framer.WriteData(id, false, []byte("body")), writeHeader(framer, id, trailer.Bytes(), true, true)); err != nil {
				return err
			}
			runtime.Gosched()
		}
		return nil
	}
}

// longFrame sends nearly all of a frame that is as long as frames can be.
func longFrame(connection net.Conn) error {
	if _, err := greet(connection, complete); err != nil {
		return err
	}
	if _, err := io.WriteString(connection, "\xff\xff\xff\x01\x05\x00\x00\x00\x01"); err != nil {
		return err
	}
	return writes(payload(1 << 20))(connection)
}

func grpcFields() []string { return []string{"content-type", "application/grpc", "te", "trailers"} }

// delimited returns a message with its prefix.
func delimited(message string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// unfinished returns an EchoRequest of about a size, of which the last byte is missing.
func unfinished(size int) []byte {
	message := delimited("\x12" + varint(size-8) + payload(size-8))
	return message[:len(message)-1]
}

func varint(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// grpcStreams returns a function that begins calls, each of which sends a message and then nothing, as fast as the server takes it.
func grpcStreams(method string, streams int, message []byte) func(net.Conn) error {
	return func(connection net.Conn) error {
		client, err := (&http2.Transport{}).NewClientConn(connection)
		if err != nil {
			return err
		}
		for range streams {
			r, err := http.NewRequest(http.MethodPost, "http://a/echo.v1.Echo/"+method, newStalledBody(message))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/grpc")
			go func() {
				if response, err := client.RoundTrip(r); err == nil {
					_ = response.Body.Close()
				}
			}()
		}
		return nil
	}
}

// stalledBody is a body whose end never comes. Reading it lets others run, as writes does.
type stalledBody struct {
	io.Reader
	io.Closer
}

func newStalledBody(data []byte) stalledBody {
	endless, writer := io.Pipe()
	return stalledBody{io.MultiReader(politeReader{bytes.NewReader(data)}, endless), writer}
}

type politeReader struct{ io.Reader }

// Read implements io.Reader.
func (r politeReader) Read(p []byte) (int, error) {
	runtime.Gosched()
	return r.Reader.Read(p)
}
